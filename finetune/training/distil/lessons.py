"""What a run learns besides its labels: the answers of teachers, also for rows without labels, or soft labels."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.gone import without_defaults
from finetune.models.feature import IGNORED, LABEL, TAUGHT, Feature, LazyFeatures, lengths, truncated_rows
from finetune.runs.events import Watcher
from finetune.runs.recipe_tables import Distil
from finetune.runs.record_files import load_record
from finetune.runs.run_id import data_fingerprint
from finetune.storage.cache import hash_of
from finetune.task_types import registry
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.training.distil.answers import RowAnswers, Teacher, joint_answers, soft_labels, softened
from finetune.training.distil.objective import STATES
from finetune.training.distil.teachers import rows_without_labels


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """The teachers, the rows that they alone answer (`text`), or without teachers soft labels of the training rows.

    `plain` is the folder of the same run without a teacher.
    """

    settings: Distil
    teachers: tuple[Teacher, ...] = ()
    text: Sequence[Row] = ()
    soft: RowAnswers = ()
    notes: tuple[str, ...] = ()
    plain: Path | None = None

    @property
    def facts(self) -> dict[str, str]:
        """Hashes of all that decides what is learned, for the run's id."""
        values = [value for each in self.soft for value in (np.round(each, 6).tolist())]
        return {
            **({"teachers": hash_of(sorted(one.fingerprint for one in self.teachers))} if self.teachers else {}),
            **({"text": data_fingerprint({"": self.text})} if self.text else {}),
            **({"soft": hash_of(values)} if self.soft else {}),
        }

    def answers(self, task: Task, rows: Sequence[Row], watch: Watcher) -> RowAnswers:
        """The answers for training rows and then for those of the text."""
        if not self.teachers:
            return self.soft
        every = [*rows, *self.text]
        return joint_answers([one.answers(every, task.teaching, watch) for one in self.teachers], task.teaching)


def plan_lessons(
    resolved: ResolvedRun,
    task: Task,
    rows: Sequence[Row],
    dev: Sequence[Row],
    *,
    data: str,
    known: Collection[str],
    device: str | None,
) -> Lessons | None:
    """What a run with these rows of training and dev learns besides labels; None for labels alone.

    `data` is the fingerprint of all its rows, and `known` are the teachers whose training rows are known.

    Raises UserError for a text or soft labels that cannot be read.
    """
    distil = resolved.recipe.distil
    if not distil.given:
        return None
    if distil.soft:
        soft = soft_labels(task, rows, confidence=distil.confidence)
        return Lessons(settings=distil, soft=soft)
    own = resolved.default if registry.in_file(resolved.recipe.task) else None
    teachers = tuple(Teacher(folder, own, device) for folder in resolved.teachers)
    for teacher in teachers:
        require_labels(teacher, task)
    text, notes = list[Row](), list[str]()
    if distil.text:
        text, notes = _text(task, Path(distil.text), dev)
        notes = [*notes, f"{distil.text}: {so_many(len(text))} without labels, which the teacher answers"]
    notes += notes_on_scored_rows(resolved, data, known)
    return Lessons(settings=distil, teachers=teachers, text=text, notes=tuple(notes), plain=resolved.plain)


def _text(task: Task, path: Path, dev: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows that teachers alone answer, without those that the student is scored on; and notes.

    Raises UserError where none are left.
    """
    rows, notes = rows_without_labels(task, path)
    kind = type_of(task)
    if kind is None:
        return rows, notes
    scored = {kind.unit(row) for row in dev}
    kept = [row for row in rows if kind.unit(row) not in scored]
    if not kept:
        raise UserError(f"distil.text={path}: all its rows are dev rows", "Name rows that the student is not scored on")
    found = f"{path}: {so_many(len(rows) - len(kept))} left out, which the student is scored on"
    return kept, [*notes, *([found] if len(kept) < len(rows) else [])]


def require_labels(teacher: Teacher, task: Task) -> None:
    """Raises UserError where `keep_labels` gave the student labels that its teacher lacks."""
    if lost := [label for label in task.teaching.labels if label not in teacher.labels]:
        raise UserError(
            f"distil.teacher={teacher.folder.name}: it lacks the label {lost[0]}, which keep_labels keeps",
            "Set keep_labels=shared, or name a teacher with all of them",
        )


def notes_on_scored_rows(resolved: ResolvedRun, data: str, known: Collection[str] = ()) -> Iterator[str]:
    """A note on each teacher that knows, or may know, the labels of rows on which its student is scored; of one whose
    training rows are `known` the run says how many it shares with them.
    """
    held_out = resolved.recipe.held_out.model_dump()
    for folder in resolved.teachers:
        record = load_record(folder / "record.json")
        if record.id in known:
            continue
        if record.learned:
            what = f"has learned the rows of {' and '.join(record.learned)} too: its scores on them"
        elif (record.data, without_defaults(record.recipe).get("held_out", held_out)) != (data, held_out):
            what = "was trained on other rows than these: if rows of dev are among them, its scores"
        else:
            continue
        yield f"the teacher {folder.name} {what} are too high, and so are those of its student"


class TaughtFeatures(LazyFeatures):
    """Features that have a target `taught` next to their label, of training rows and then of rows without labels."""

    def __init__(self, parts: Sequence[Sequence[Feature]], targets: Sequence[np.ndarray], rows: int) -> None:
        self.parts, self.targets = parts, targets
        self.labelled, self.offset = len(parts[0]), rows
        self.like = parts[0][0].label
        facts = [truncated_rows(part) if len(part) else (np.zeros(0, int), np.zeros(0, bool)) for part in parts]
        self.rows = np.concatenate([facts[0][0], facts[1][0] + rows])
        self.truncated = np.concatenate([cut for _, cut in facts])
        self.lengths = np.concatenate([lengths(part) for part in parts])

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        target = self.targets[index]
        if index < self.labelled:
            return _taught(self.parts[0][index], target)
        feature = self.parts[1][index - self.labelled]
        nothing = math.nan if isinstance(self.like, float) else IGNORED
        label = nothing if np.isscalar(self.like) else [nothing] * len(target)
        return _taught(replace(feature, label=label, row=feature.row + self.offset), target)


def _taught(feature: Feature, target: np.ndarray) -> Feature:
    """The feature with a target of answers too, and one for its states: a label for each text that it has."""
    texts = [1] * len(feature.choices) if feature.choices else 1
    return replace(feature, label={LABEL: feature.label, TAUGHT: target, STATES: texts})


def taught_features(
    task: Task, lessons: Lessons, features: Sequence[Feature], text: Sequence[Feature], answers: RowAnswers, rows: int
) -> TaughtFeatures:
    """The features to train on. Raises UserError where a student's tokens would have to be those of its teacher."""
    teaching, temperature = task.teaching, lessons.settings.temperature
    by_feature = [*teaching.by_feature(answers[:rows], features), *teaching.by_feature(answers[rows:], text)]
    targets = [softened(each, teaching.learns, temperature) for each in by_feature]
    return TaughtFeatures([features, text], targets, rows)
