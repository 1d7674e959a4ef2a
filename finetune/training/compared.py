"""The three rows that say what a teacher is worth: teacher, student, and the same student without a teacher."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from finetune.inference.engine import Engine
from finetune.metrics.scores import Scores
from finetune.models.caller_state import plain_mode
from finetune.models.head import EncoderWithHead
from finetune.runs.events import Working
from finetune.runs.record_files import load_record
from finetune.runs.record_parts import PLAIN, STUDENT, TEACHER, ComparedModel
from finetune.training.distil.answers import Teacher, joint_answers
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.prepared_run import PlannedRun

TIMED_ROWS, TIMES = 256, 2  # rows that are answered to know a model's speed, and how often: the best counts


def compared_models(planned: PlannedRun, every: DevEvaluation, found: Evaluated, engine: Engine) -> list[ComparedModel]:
    """The rows of a student with teachers; none without a teacher. The plain run has the student's size and speed."""
    lessons = planned.lessons
    if lessons is None or not lessons.teachers:
        return []
    engine.watch(Working("comparing with the teacher"))
    student = _student(planned.id, every, found, engine)
    name = TEACHER if len(lessons.teachers) == 1 else f"{len(lessons.teachers)} teachers"
    rows = [_teachers(name, lessons.teachers, every, engine), student]
    if lessons.plain is not None:
        record = load_record(lessons.plain / "record.json")
        rows.append(student.model_copy(update={"name": PLAIN, "runs": [record.id], "scores": record.scores}))
    return rows


def _student(run: str, every: DevEvaluation, found: Evaluated, engine: Engine) -> ComparedModel:
    parameters, megabytes = _size(engine.model)
    features = every.features[_most_rows(every)]
    of_rows = [feature for feature in features if feature.row < TIMED_ROWS]
    rate = _rate(lambda: engine.logits(of_rows), rows=len({feature.row for feature in of_rows}))
    return ComparedModel(
        name=STUDENT, runs=[run], scores=found.scores, parameters=parameters, megabytes=megabytes, rows_per_second=rate
    )


def _teachers(name: str, models: Sequence[Teacher], every: DevEvaluation, engine: Engine) -> ComparedModel:
    sizes = [_size(one.predictor.torch_engine.model) for one in models]
    rows = every.rows[_most_rows(every)][:TIMED_ROWS]
    return ComparedModel(
        name=name,
        runs=[one.folder.name for one in models],
        scores=_answered_scores(models, every, engine),
        parameters=sum(count for count, _ in sizes),
        megabytes=sum(size for _, size in sizes),
        rows_per_second=1 / sum(1 / _rate_of(one, rows) for one in models),
    )


def _answered_scores(teachers: Sequence[Teacher], every: DevEvaluation, engine: Engine) -> Scores:
    """The scores of teachers' answers, of several of the mean of their probabilities, for an engine's features."""
    teaching = every.task.teaching

    def logits(split: str) -> list[np.ndarray]:
        rows, features = every.rows[split], every.features[split]
        answers = joint_answers([one.answers(rows, teaching, engine.watch) for one in teachers], teaching)
        return [np.nan_to_num(teaching.logits(each)) for each in teaching.by_feature(answers, features)]

    return every.judged(logits, engine.watch).scores


def _most_rows(every: DevEvaluation) -> str:
    """The split with the most rows, whose time is measured best."""
    return max(every.features, key=lambda split: len(every.rows[split]))


def _size(model: EncoderWithHead) -> tuple[int, float]:
    """A model's weights, and their megabytes."""
    weights = list(model.parameters())
    return sum(p.numel() for p in weights), sum(p.numel() * p.element_size() for p in weights) / 1e6


def _rate_of(teacher: Teacher, rows: Sequence[object]) -> float:
    with plain_mode():
        features = teacher.predictor.encoded(rows)
        return _rate(lambda: teacher.predictor.engine.logits(features), rows=len(rows))


def _rate(answer: Callable[[], object], *, rows: int) -> float:
    """Rows a second, tokenization left out."""
    seconds = []
    for _ in range(TIMES):
        started = time.perf_counter()
        answer()
        seconds.append(time.perf_counter() - started)
    return rows / max(min(seconds), 1e-9)
