"""A run's features with what a teacher answers, and the objective that learns it."""

from dataclasses import dataclass

from finetune.inference.engine import Engine
from finetune.runs.events import Note
from finetune.training.distil.lessons import TaughtFeatures, taught_features
from finetune.training.distil.objective import Taught
from finetune.training.prepared_run import BuiltRun, PlannedRun, text_features


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """The features to train on, and what is learned of them."""

    features: TaughtFeatures
    objective: Taught


def taught(planned: PlannedRun, built: BuiltRun, engine: Engine) -> Lesson | None:
    """What a run learns besides labels, once teachers have answered; None for labels alone."""
    lessons, task = planned.lessons, planned.task
    if lessons is None:
        return None
    for note in lessons.notes:
        engine.watch(Note(note))
    features = taught_features(
        task, lessons, built.features[task.train_split], text_features(planned, built, engine.watch),
        lessons.answers(task, planned.train_rows, engine.watch), len(planned.train_rows),
    )  # fmt: skip
    objective = Taught(head=engine.model.head, learns=task.teaching.learns, settings=lessons.settings)
    return Lesson(features=features, objective=objective)
