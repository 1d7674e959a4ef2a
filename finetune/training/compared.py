"""The three rows that say what a teacher is worth: the teacher, its student, and the same student without a teacher."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from finetune.inference.engine import Engine
from finetune.metrics.scores import Scores
from finetune.models.caller_state import plain_mode
from finetune.models.model import EncoderWithHead
from finetune.runs.compared_model import PLAIN, STUDENT, TEACHER, ComparedModel
from finetune.runs.events import Working
from finetune.runs.record_files import load_record
from finetune.training.distil.answers import Teacher, joined
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.prepared_run import PlannedRun

TIMED_ROWS, TIMES = 256, 2  # rows that are answered to know a model's speed, and how often: the best counts


def compared(planned: PlannedRun, every: DevEvaluation, found: Evaluated, engine: Engine) -> list[ComparedModel]:
    """The rows of a student with teachers; none without a teacher. The plain run has the student's size and speed."""
    lessons = planned.lessons
    if lessons is None or not lessons.teachers:
        return []
    engine.watch(Working("comparing with the teacher"))
    student = _student(planned, every, found, engine)
    rows = [_teacher(planned, every, engine), student]
    if lessons.plain is not None:
        record = load_record(lessons.plain / "record.json")
        rows.append(student.model_copy(update={"name": PLAIN, "runs": [record.id], "scores": record.scores}))
    return rows


def _student(planned: PlannedRun, every: DevEvaluation, found: Evaluated, engine: Engine) -> ComparedModel:
    parameters, megabytes = _size(engine.model)
    features = next(iter(every.features.values()))
    of_rows = [feature for feature in features if feature.row < TIMED_ROWS]
    rate = _rate(lambda: engine.logits(of_rows), rows=len({feature.row for feature in of_rows}))
    return ComparedModel(
        name=STUDENT, runs=[planned.id], scores=found.scores, parameters=parameters, megabytes=megabytes,
        rows_per_second=rate,
    )  # fmt: skip


def _teacher(planned: PlannedRun, every: DevEvaluation, engine: Engine) -> ComparedModel:
    """The teacher, or several as one, whose answers on dev are decoded as the student's are."""
    lessons = planned.lessons
    assert lessons is not None
    sizes = [_size(one.predictor.engine.model) for one in lessons.teachers]
    rows = every.rows[next(iter(every.features))][:TIMED_ROWS]
    rates = [_teacher_rate(one, rows) for one in lessons.teachers]
    return ComparedModel(
        name=TEACHER if len(sizes) == 1 else f"{len(sizes)} teachers",
        runs=[one.folder.name for one in lessons.teachers],
        scores=answered_scores(lessons.teachers, every, engine),
        parameters=sum(count for count, _ in sizes),
        megabytes=sum(size for _, size in sizes),
        rows_per_second=1 / sum(1 / rate for rate in rates),
    )


def answered_scores(teachers: Sequence[Teacher], every: DevEvaluation, engine: Engine) -> Scores:
    """The scores of teachers' answers, of several of the mean of their probabilities, for an engine's features."""
    teaching = every.task.teaching

    def logits(split: str) -> list[np.ndarray]:
        rows, features = every.rows[split], every.features[split]
        answers = joined([one.answers(rows, teaching, engine.watch) for one in teachers], teaching)
        return [np.nan_to_num(teaching.logits(each)) for each in teaching.by_feature(answers, features)]

    return every.judged(logits, engine.watch).scores


def _size(model: EncoderWithHead) -> tuple[int, float]:
    """A model's weights, and their megabytes."""
    weights = list(model.parameters())
    return sum(p.numel() for p in weights), sum(p.numel() * p.element_size() for p in weights) / 1e6


def _teacher_rate(teacher: Teacher, rows: Sequence[object]) -> float:
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
