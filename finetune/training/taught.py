"""A run's features with what a teacher answers, and the objective that learns it."""

from dataclasses import dataclass, replace

from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.tokenizers.fingerprint import tokenizer_hash
from finetune.runs.events import Note
from finetune.training.distil.lessons import Lessons, TaughtFeatures, taught_features
from finetune.training.distil.objective import TaughtLosses
from finetune.training.distil.states import TaughtStates
from finetune.training.prepared_run import BuiltRun, PlannedRun, unlabelled_features


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """The features to train on, and what is learned of them."""

    features: TaughtFeatures
    objective: TaughtLosses

    def end(self) -> None:
        """Leaves the model as it is predicted with, and saved."""
        if self.objective.states is not None:
            self.objective.states.close()


def taught(planned: PlannedRun, built: BuiltRun, engine: Engine) -> Lesson | None:
    """What a run learns besides labels, once teachers have answered; None for labels alone."""
    lessons, task = planned.lessons, planned.task
    if lessons is None:
        return None
    for note in lessons.notes:
        engine.watch(Note(note))
    features = taught_features(
        task, lessons, built.features[task.train_split], unlabelled_features(planned, built, engine.watch),
        lessons.answers(task, planned.train_rows, engine.watch), len(planned.train_rows),
    )  # fmt: skip
    states = _states(lessons, built, engine, seed=planned.recipe.seeds[0]) if lessons.settings.states else None
    objective = TaughtLosses(
        head=engine.model.head, learns=task.teaching.learns, settings=lessons.settings, states=states
    )
    return Lesson(features=features, objective=objective)


def _states(lessons: Lessons, built: BuiltRun, engine: Engine, *, seed: int) -> TaughtStates:
    """What learns the teacher's layers. Raises UserError where these are of other tokens, or of several teachers."""
    if engine.accelerator.num_processes > 1:
        raise UserError("distil.states trains in one process", "Leave `processes` out, or distil.states")
    (teacher, *others) = lessons.teachers
    if others or tokenizer_hash(teacher.predictor.tokenizer) != tokenizer_hash(built.tokenizer):
        what = f"there are {len(others) + 1} teachers" if others else "teacher and student have other vocabularies"
        raise UserError(f"distil.states: {what}, and layers are learned token by token", "Leave distil.states out")
    own = replace(teacher).predictor.torch_engine.model  # another than that which answers, and whose speed is measured
    return TaughtStates(engine.model, own.backbone.encoder.to(engine.accelerator.device), seed)
