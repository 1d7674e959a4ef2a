"""Measures of rows that a model was evaluated on and of its training rows, which its folder keeps; no texts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from finetune.data.atomic import written_file
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.shift.measures import Measures, answer_measures, labels_of, text_measures
from finetune.models.feature import Feature
from finetune.models.sequences import Sequences
from finetune.task_types.data_type import DataType
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import encode_rows
from finetune.task_types.task import Task
from finetune.task_types.types import type_of

if TYPE_CHECKING:
    from finetune.inference.engine import Engine

FILE = "reference.npz"  # in the folder of a model
FORMAT = 1
MOST_ROWS = 500  # of each split, and of new rows: enough for a shift that matters
STATES, PREDICTIONS = "hidden states", "predictions"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Measures of rows by split: of dev all, of training those of the texts alone.

    Hidden states of training rows are others than those of new rows, since the model was fitted to them; so are those
    of dev where the model has learned these too. `labels` are those that the predictions for dev have.
    """

    dev: Measures
    train: Measures
    labels: tuple[str, ...]

    @property
    def rows(self) -> int:
        """How many rows of dev there are."""
        return len(next(iter(self.dev.values())))


@dataclass(frozen=True, kw_only=True)
class Measurer:
    """A model with what encodes rows for it, as the functions here need it."""

    task: Task
    engine: "Engine"
    tokenizer: Any
    max_length: int

    def of_texts(self, rows: Sequence[Row]) -> tuple[Measures, Sequence[Feature]]:
        """The measures of rows' texts, and their features."""
        features = encode_rows(self.task, rows, self.tokenizer, self.max_length, self.engine.most_tokens)
        return text_measures(self.task, rows, features, self.tokenizer.unk_token_id), features

    def of_rows(self, rows: Sequence[Row], labels: Sequence[str], answers: Sequence[Answer] | None = None) -> Measures:
        """All measures of rows, whose predictions may be known."""
        measures, features = self.of_texts(rows)
        answers = self.answers(rows, features) if answers is None else answers
        measures[PREDICTIONS] = answer_measures(self.task, answers, labels)
        measures[STATES] = row_states(self.engine, features, len(rows))
        return measures

    def answers(self, rows: Sequence[Row], features: Sequence[Feature]) -> list[Answer]:
        """The predictions for rows."""
        found: list[Answer] = self.task.codec.decode(self.engine.logits(features), features, rows)
        return found

    def reference(self, train: Sequence[Row], dev: Sequence[Row], answers: Sequence[Answer] | None) -> Reference:
        """The reference of a model, from samples of its rows and the predictions for dev; without these by texts."""
        chosen, some = sample(self.task, dev), sample(self.task, train)
        rows, of_train = [dev[index] for index in chosen], [train[index] for index in some]
        texts = self.of_texts(of_train)[0] if some else {}
        if answers is None:
            return Reference(dev=self.of_texts(rows)[0], train=texts, labels=())
        known = [answers[index] for index in chosen]
        labels = tuple(sorted({label for given in labels_of(self.task, known) for label in given}))
        return Reference(dev=self.of_rows(rows, labels, known), train=texts, labels=labels)


def sample(task: Task, rows: Sequence[Row]) -> list[int]:
    """The indexes of some rows at random, always the same; of those that share a context or a document one alone.

    Rows with equal texts all count: that a file repeats itself is a shift too.
    """
    order, unit = np.random.default_rng(0).permutation(len(rows)).tolist(), own_unit(task)
    if unit is None:
        return list(order[:MOST_ROWS])
    return list({unit(rows[index]): index for index in reversed(order)}.values())[::-1][:MOST_ROWS]


def own_unit(task: Task) -> Callable[[Row], str] | None:
    """What gives the context or document of a row; None where rows share none."""
    kind = type_of(task)
    return None if kind is None or type(kind).unit is DataType.unit else kind.unit


def row_states(engine: "Engine", features: Sequence[Feature], rows: int) -> NDArray[np.float32]:
    """The mean of each row's tokens in the last hidden layer but one, `(rows, width)`.

    Of the last one some engines compute no more than what the head reads; and there little is left of what does not
    matter for the labels: 3 % of typos in reviews showed in the last but one (MiniLM, SST-2), and not in the last.
    """
    sequences, layer = Sequences(features), max(0, engine.model.backbone.config.num_hidden_layers - 1)
    found = np.zeros((rows, engine.model.backbone.config.hidden_size), np.float32)
    count = np.zeros(rows)
    for index, states in engine.hidden_states(sequences, [layer], pooled=False):
        row = sequences[index].row
        found[row] += states.mean((0, 1))
        count[row] += 1
    return np.asarray(found / np.maximum(1, count)[:, None], np.float32)


def save_reference(reference: Reference, folder: Path) -> None:
    """Writes the reference into the folder of its model."""
    facts = json.dumps({"format": FORMAT, "labels": reference.labels})
    arrays = {f"dev/{name}": values for name, values in reference.dev.items()}
    arrays |= {f"train/{name}": values for name, values in reference.train.items()}
    halves = {name: values.astype(np.float16) if name.endswith(STATES) else values for name, values in arrays.items()}
    with written_file(folder / FILE) as scratch, scratch.open("wb") as file:
        np.savez_compressed(file, facts=np.array(facts), **halves)  # type: ignore[arg-type]


def load_reference(folder: Path) -> Reference | None:
    """The reference in a model's folder; None for a model of an older version. Raises UserError if it is damaged."""
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as arrays:
            facts = json.loads(str(arrays["facts"]))
            by_split = {
                split: {name.partition("/")[2]: arrays[name] for name in arrays if name.startswith(f"{split}/")}
                for split in ("dev", "train")
            }
        if facts["format"] != FORMAT:
            return None
        return Reference(labels=tuple(facts["labels"]), **by_split)
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise UserError(f"{file}: is damaged ({error})", "Train the model again with `force`") from error
