"""What a run learns besides its labels: the answers of teachers, also for rows without labels, or soft labels.

Answers are logits `(n,)` by row and item, as `Teaching` says; soft labels are columns `p(LABEL)`, as `finetune predict`
writes them.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import expit, log_softmax, logit, logsumexp, softmax
from torch import Tensor
from torch.nn import functional

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.data.values import as_number
from finetune.errors import UserError
from finetune.gone import without_defaults
from finetune.inference.engine import IMPOSSIBLE
from finetune.inference.predictor import Predictor, load_predictor, saved
from finetune.models.batch import Batch
from finetune.models.caller_state import plain_mode
from finetune.models.feature import IGNORED, LABEL, TAUGHT, Feature, LazyFeatures, lengths, truncated_rows
from finetune.models.head import Head
from finetune.runs.events import Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.runs.recipe_tables import Distil
from finetune.runs.record_files import load_record
from finetune.runs.run_id import data_fingerprint
from finetune.storage.cache import hash_of
from finetune.task_types import registry
from finetune.task_types.own_data import own_data, usable_rows, with_distinct_ids
from finetune.task_types.parts import Teaching, teaching_of
from finetune.task_types.prepare import array_features
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import Keys, known_keys
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.training.distil.teachers import rows_without_labels
from finetune.training.extras import Extra, RunState

CLOSE = 0.02  # by which probabilities may miss a sum of 1: files have them rounded
LEAST_CHANCE = 1e-6  # a probability of 0 has no logit
ItemLogits = Mapping[tuple[int, int], np.ndarray]  # by the index of a row, and of an item in it


@dataclass(frozen=True)
class Teacher:
    """A trained run; `task` is the student's where that is in a file, which a run's own files do not name."""

    folder: Path
    task: Task | None = None
    device: str | None = None

    @cached_property
    def predictor(self) -> Predictor:
        """The model."""
        return load_predictor(self.folder, task=self.task, device=self.device)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of its answers."""
        task = saved(self.folder).task() if self.task is None else self.task
        teach = teaching_of(task)
        return () if teach is None else teach.labels

    def fingerprint(self) -> str:
        """A hash of its weights and of how they are read."""
        run = saved(self.folder)
        return hash_of([run.files.fingerprint, sorted(map(str, run.settings.items()))])

    def answers(self, rows: Sequence[Row], teach: Teaching, watch: Watcher) -> ItemLogits:
        """Its logits for rows, without dropout and in the order of the student's labels."""
        watch(Working(f"{self.folder.name} answers {so_many(len(rows))}"))
        with plain_mode():
            features = self.predictor.encoded(rows)
            logits = self.predictor.engine.logits(features)
        if order := [self.labels.index(label) for label in teach.labels]:
            logits = [each[..., order] for each in logits]
        return item_logits(teach, logits, features)


def item_logits(teach: Teaching, logits: Sequence[np.ndarray], features: Sequence[Feature]) -> ItemLogits:
    """The logits of features by item, the mean of those that several features have; a word without a token has none."""
    answers: dict[tuple[int, int], list[np.ndarray]] = defaultdict(list)
    for feature, each in zip(features, logits, strict=True):
        items = each if teach.by_word else each[:, None] if teach.learns == "flags" else each[None]
        for place, item in zip(_places(teach, feature), items, strict=True):
            answers[place].append(item)
    return {place: np.mean(items, axis=0) for place, items in answers.items()}


def _places(teach: Teaching, feature: Feature, first_row: int = 0) -> list[tuple[int, int]]:
    """The row and the item of each label of a feature."""
    row = first_row + feature.row
    if teach.by_word:
        return [(row + after, word) for after, word in feature.note]
    return [(row, item) for item in range(len(teach.labels) if teach.learns == "flags" else 1)]


def joint_answers(several: Sequence[ItemLogits], learns: str) -> ItemLogits:
    """The answers of several teachers as those of one: logits of the mean of their probabilities, or the mean number.

    An item is left out where one of them has no answer.
    """
    first, *others = several
    joint = {}
    for place in first if others else ():
        if all(place in other for other in others):
            logits = np.stack([each[place] for each in several])
            if learns == "class":
                joint[place] = logsumexp(log_softmax(logits, axis=-1), axis=0) - np.log(len(logits))
            else:
                joint[place] = logit(expit(logits.astype(np.float64)).mean(0)) if learns == "flags" else logits.mean(0)
    return joint if others else first


def soft_labels(task: Task, rows: Sequence[Row]) -> ItemLogits:
    """The logits of each training row's soft label.

    Raises UserError for data without such columns, and for probabilities that are none or do not sum to one.
    """
    own, teach = own_data(task), teaching_of(task)
    if own is None or teach is None or not teach.labels or teach.by_word or teach.labels != task.label_names:
        raise UserError(
            f"distil.soft: {task.name} is not a file with a label a row and its probabilities",
            "Name the column that has the label of each row: label=COLUMN",
        )
    table, columns = own.table(own.files[task.train_split]), [f"p({label})" for label in teach.labels]
    if missing := [name for name in columns if name not in table.columns]:
        raise UserError(
            f"{table.path}: distil.soft=true, and there is no column {missing[0]}",
            "Add the columns p(LABEL), one a label",
        )
    usable, indexes, _ = usable_rows(own.layout, table)
    usable = with_distinct_ids(usable) if own.layout.id else usable
    index_of = {row.id: index for row, index in zip(usable, indexes, strict=True)}
    soft = {}
    for number, row in enumerate(rows):
        index, chances = index_of[row.id], list[float]()
        where = f"{table.path}: row {table.rows[index]}"
        for name in columns:
            cell = table.columns[name][index]
            chance = as_number(cell)
            if chance is None or not 0 <= chance <= 1:
                raise UserError(f"{where}: {name} is '{cell}', not a probability", "Give a number from 0 to 1")
            chances.append(chance)
        if teach.learns == "class" and abs(sum(chances) - 1) > CLOSE:
            raise UserError(
                f"{where}: the soft label has {sum(chances):.3g} as the sum of {', '.join(columns)}",
                "Probabilities of one row sum to 1: fix that row",
            )
        inner = np.clip(np.array(chances), LEAST_CHANCE, 1 - LEAST_CHANCE)
        items = np.log(inner / (1 - inner))[:, None] if teach.learns == "flags" else np.log(inner)[None]
        soft.update({(number, item): logits for item, logits in enumerate(items)})
    return soft


class TaughtFeatures(LazyFeatures):
    """Features that have a target `taught` next to their label, of `rows` training rows and then of `text` without
    labels.
    """

    def __init__(
        self, teach: Teaching, features: Sequence[Feature], text: Sequence[Feature], answers: ItemLogits, *, rows: int,
        temperature: float,
    ) -> None:  # fmt: skip
        self.features, self.text, self.first_row = features, text, rows
        (ours, cut), (others, others_cut) = truncated_rows(features), truncated_rows(text)
        self.rows = np.concatenate([ours, others + rows]).astype(int)
        self.truncated = np.concatenate([cut, others_cut]).astype(bool)
        self.lengths = np.concatenate([lengths(features), lengths(text)])
        places = [_places(teach, feature) for feature in features]
        places += [_places(teach, feature, rows) for feature in text]
        unknown = np.full(len(teach.labels), np.nan, dtype=np.float32)  # of a word; other items have answers
        self.targets = [
            softened(np.stack([answers.get(place, unknown) for place in items]), teach.learns, temperature)
            for items in places
        ]

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        target = self.targets[index]
        if index < len(self.features):
            feature = self.features[index]
            return replace(feature, label={LABEL: feature.label, TAUGHT: target})
        feature, like = self.text[index - len(self.features)], self.features[0].label
        nothing = math.nan if isinstance(like, float) else IGNORED
        label = nothing if np.isscalar(like) else [nothing] * len(target)
        return replace(feature, label={LABEL: label, TAUGHT: target}, row=self.first_row + feature.row)


def softened(logits: np.ndarray, learns: str, temperature: float) -> np.ndarray:
    """What a student learns of the logits of one feature `(items, n)`: probabilities, or numbers; IGNORED where there
    are none.
    """
    if learns == "class":
        target = softmax(logits / temperature, axis=-1)
    else:
        target = expit(logits / temperature) if learns == "flags" else logits
    return np.where(np.isnan(logits).any(-1, keepdims=True), IGNORED, target).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class TaughtLosses:
    """The objective of a run that learns answers, which are what `learns` of `Teaching` says.

    Each loss is a sum over its own labels, as that of any head; the trainer divides by their number.
    """

    head: Head
    learns: str
    settings: Distil

    def __call__(self, logits: Any, batch: Batch) -> dict[str, Tensor]:
        """The losses of labels and of answers by name, each summed over its own and with its weight."""
        weight, labels = self.settings.weight, batch.labels[LABEL]
        targets = batch.labels[TAUGHT]
        taught = soft_loss(logits.reshape(targets.shape), targets, self.learns, self.settings.temperature)
        losses, there = {TAUGHT: weight * taught}, has_label(labels)
        if weight < 1 and bool(there.any()):
            losses[LABEL] = (1 - weight) * self.head.loss(logits[there], labels[there])
        return losses


def soft_loss(logits: Tensor, targets: Tensor, learns: str, temperature: float) -> Tensor:
    """The loss of logits `(batch, items, n)` against targets of that shape, summed over the items that have one.

    Of classes the Kullback-Leibler divergence, of flags the binary cross-entropy above its least, of numbers the
    squared error. What a softer target loses in its gradient, a factor of the temperature squared gives back (Hinton
    et al. 2015, section 2.1).
    """
    there = targets != IGNORED
    wanted = targets.where(there, torch.zeros_like(targets))
    if learns == "number":
        return functional.mse_loss(logits.where(there, wanted), wanted, reduction="sum")
    cooled = logits.float().masked_fill(~there, IMPOSSIBLE) / temperature
    if learns == "flags":
        known = torch.stack([wanted, 1 - wanted], -1)
        guessed = torch.stack([functional.logsigmoid(cooled), functional.logsigmoid(-cooled)], -1)
        there = there.unsqueeze(-1)
    else:
        known, guessed = wanted, cooled.log_softmax(-1)
    apart: Tensor = torch.special.xlogy(known, known) - known * guessed
    return temperature**2 * apart.where(there, 0.0).sum()


def has_label(labels: Tensor) -> Tensor:
    """Which rows of a batch have a label, `(batch,)`."""
    if labels.is_floating_point() and labels.ndim == 1:
        return ~labels.isnan()
    return (labels != IGNORED).reshape(len(labels), -1).any(1)


class TeacherAnswers(Extra):
    """`distil`: answers of `teachers`, also for the rows of `text` that have no label; or soft labels of your data."""

    teachers: Sequence[Teacher] = ()
    text: Sequence[Row] = ()
    soft: ItemLogits

    def after_reading(self, run: RunState) -> None:
        """Hashes all that decides what is learned, for the run's id.

        Raises UserError for a text or soft labels that cannot be read, and where `keep_labels` gave the student labels
        that its teacher lacks.
        """
        resolved, task, distil = run.resolved, run.task, run.recipe.distil
        if distil.soft:
            self.soft = soft_labels(task, run.train_rows)
            run.taught = {"soft": hash_of([np.round(logits, 6).tolist() for logits in self.soft.values()])}
            return
        own, known = resolved.default if registry.in_file(resolved.recipe.task) else None, dict[str, Keys]()
        self.teachers = [Teacher(Path(folder), own, str(run.device)) for folder in distil.teachers]
        for teacher in self.teachers:
            if lost := [label for label in _teach(task).labels if label not in teacher.labels]:
                raise UserError(
                    f"distil.teacher={teacher.folder.name}: it lacks the label {lost[0]}, which keep_labels keeps",
                    "Set keep_labels=shared, or name a teacher with all of them",
                )
            known |= known_keys(RunFolder(teacher.folder))
        run.known = {**run.known, **known}
        run.taught = {"teachers": hash_of(sorted(teacher.fingerprint() for teacher in self.teachers))}
        if distil.text:
            dev = [row for split in task.dev_splits for row in run.rows[split]]
            self.text, notes = _text(task, Path(distil.text), dev)
            run.notes += notes
            run.taught = {**run.taught, "text": data_fingerprint({"": self.text})}
            run.rows_learned = [*run.rows_learned, *self.text]
        run.notes += notes_on_scored_rows(resolved, run.data, known)

    def before_training(self, run: RunState) -> None:
        """Has the teachers answer, and the answers learned."""
        task, distil, teach, rows = run.task, run.recipe.distil, _teach(run.task), run.train_rows
        features: Sequence[Feature] = run.features[task.train_split]
        text = features[:0]
        if self.text:
            text = array_features(task, self.text, run.tokenizer, run.recipe.max_length, run.watch)
        if self.teachers:
            answers = [teacher.answers([*rows, *self.text], teach, run.watch) for teacher in self.teachers]
            self.soft = joint_answers(answers, teach.learns)
        run.inputs[task.train_split] = TaughtFeatures(
            teach, features, text, self.soft, rows=len(rows), temperature=distil.temperature
        )
        run.objective = TaughtLosses(head=run.model.head, learns=teach.learns, settings=distil)


def _teach(task: Task) -> Teaching:
    teach = teaching_of(task)
    assert teach is not None  # `with_teachers` refuses others
    return teach


def _text(task: Task, path: Path, dev: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows that teachers alone answer, without those that the student is scored on; and notes.

    Raises UserError where none are left.
    """
    rows, notes = rows_without_labels(task, path)
    unseen, kind = rows, type_of(task)
    if kind is not None:
        scored = {kind.unit(row) for row in dev}
        unseen = [row for row in rows if kind.unit(row) not in scored]
    if not unseen:
        raise UserError(f"distil.text={path}: all its rows are dev rows", "Name rows that the student is not scored on")
    if len(unseen) < len(rows):
        notes.append(f"{path}: {so_many(len(rows) - len(unseen))} left out, which the student is scored on")
    return unseen, [*notes, f"{path}: {so_many(len(unseen))} without labels, which the teacher answers"]


def notes_on_scored_rows(resolved: ResolvedRun, data: str, known: Collection[str] = ()) -> Iterator[str]:
    """A note on each teacher that knows, or may know, the labels of rows on which its student is scored; of one whose
    training rows are `known` the run says how many it shares with them.
    """
    held_out = resolved.recipe.held_out.model_dump()
    for folder in map(Path, resolved.recipe.distil.teachers):
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
