"""The answers of teachers: found once without dropout, kept in the cache on disk, then read by every student."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, logit, logsumexp, softmax

from finetune.data.atomic import scratch_file
from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.inference.predictor import Predictor, load_predictor, saved
from finetune.models.caller_state import plain_mode
from finetune.models.feature import IGNORED
from finetune.runs.events import Watcher, Working
from finetune.runs.run_id import data_fingerprint
from finetune.storage.cache import Entry, entry, hash_of, most_bytes
from finetune.task_types.parts import Teaching
from finetune.task_types.task import Task

FORMAT = 1
VALUES, SHAPES = "values.npy", "shapes.npy"
RowAnswers = Sequence[np.ndarray]  # for each row its logits by item, `(items, n)`


@dataclass(frozen=True)
class Teacher:
    """A trained run; `task` is the student's where that is in a file, which a run's own files do not name."""

    folder: Path
    task: Task | None = None
    device: str | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of its weights and of how they are read."""
        found = saved(self.folder)
        return hash_of([found.files.fingerprint, sorted(map(str, found.settings.items()))])

    @cached_property
    def predictor(self) -> Predictor:
        """The model; it is loaded where its answers are not in the cache, or for its speed."""
        return load_predictor(self.folder, task=self.task, device=self.device)

    def answers(self, rows: Sequence[Row], teaching: Teaching[Any], watch: Watcher) -> RowAnswers:
        """Its logits for rows, in the order of the labels of a student's `teaching`."""
        kept = entry("answers", hash_of([FORMAT, self.fingerprint, self.device, data_fingerprint({"": rows})]))
        with kept.required():
            found = _read(kept) if kept.facts() is not None else None
        if found is None:
            watch(Working(f"{self.folder.name} answers {so_many(len(rows))}"))
            with plain_mode():
                features = self.predictor.encoded(rows)
                logits = self.predictor.engine.logits(features)
            found = self.predictor.task.teaching.by_row(logits, features, rows)
            if self.predictor.torch_engine.accelerator.is_main_process:
                _write(kept, found)
        theirs = self.labels
        if theirs == teaching.labels:
            return found
        order = [theirs.index(label) for label in teaching.labels]
        return [each[order] if teaching.learns == "flags" else each[:, order] for each in found]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of its answers."""
        return (saved(self.folder).task() if self.task is None else self.task).teaching.labels


def joint_answers(every: Sequence[RowAnswers], teaching: Teaching[Any]) -> RowAnswers:
    """The answers of several teachers as those of one: logits of the mean of their probabilities.

    Of starts and ends, whose probabilities are those of a window alone, the mean of the logits.
    """
    if len(every) == 1:
        return every[0]
    learns = "number" if teaching.same_tokens else teaching.learns
    return [_mean(np.stack(some), learns) for some in zip(*every, strict=True)]


def _mean(logits: np.ndarray, learns: str) -> np.ndarray:
    if learns == "class":
        return np.asarray(logsumexp(log_softmax(logits, axis=-1), axis=0) - np.log(len(logits)))
    if learns == "flags":
        return np.asarray(logit(expit(logits.astype(np.float64)).mean(0)))
    return np.asarray(logits.mean(0))


def softened(logits: np.ndarray, learns: str, temperature: float) -> np.ndarray:
    """What a student learns of the logits of one feature `(items, n)`: probabilities, or numbers; IGNORED where there
    are none.
    """
    if learns == "class":
        target = softmax(logits / temperature, axis=-1)
    else:
        target = expit(logits / temperature) if learns == "flags" else logits
    return np.where(np.isnan(logits).any(-1, keepdims=True), IGNORED, target).astype(np.float32)


def _read(kept: Entry) -> RowAnswers:
    kept.touch()
    values, shapes = (np.load(kept.folder / name) for name in (VALUES, SHAPES))
    parts = np.split(values, np.cumsum(shapes.prod(1))[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes.tolist(), strict=True)]


def _write(kept: Entry, answers: RowAnswers) -> None:
    """Writes an entry, unless there is no room for it."""
    arrays = {
        VALUES: np.concatenate([each.ravel() for each in answers]).astype(np.float32),
        SHAPES: np.array([each.shape for each in answers]),
    }
    with kept.required(), kept.locked():
        if not most_bytes() or not kept.make_room(sum(array.nbytes for array in arrays.values())):
            return
        for name, array in arrays.items():
            with scratch_file(kept.folder / name) as scratch, scratch.open("wb") as file:
                np.save(file, array)
        kept.seal([VALUES, SHAPES], rows=len(answers))
