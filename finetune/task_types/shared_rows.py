"""Texts that rows of two splits share, and that a run shares with the runs whose encoder or answers it learned from.

A run keeps a hash of each text that it was trained on, so that any file can be compared with them later.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from finetune.data.atomic import scratch_file
from finetune.data.characters import text_keys
from finetune.data.issues import Issue
from finetune.data.rows import HashedRows, OwnRow, Row, Rows
from finetune.errors import UserError
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run
from finetune.runs.record import DataFinding
from finetune.task_types.classification.marked import without_markers
from finetune.task_types.columns import checking, own_data
from finetune.task_types.own_type import OwnType
from finetune.task_types.task import TEST, Task
from finetune.task_types.types import type_of

FILE = "trained-on.npy"  # in the folder of a run: the different keys of its training rows, in rising order
LEAST_WORDS = 5  # of a sentence
LEAKED = 0.01  # share of a split's rows that are in another one too, above which scores are inflated
LEAK = Issue(
    "leak",
    "warning",
    "the same texts in two splits",
    "Remove them from one file; they inflate the scores of {split}",
    worst="error",
)
IN_SPLIT, OF_RUN = "are also in {split}", "run {run} was trained on, from which this one learned"
SCORE_OTHERS = "Score rows that it was not trained on: test=FILE"
Keys = NDArray[np.int64]


def keys_of(task: Task, rows: Sequence[Row]) -> Keys:
    """The key of each row's text `(rows,)`, 0 for one too short to compare; of rows of an unknown type none."""
    kind = type_of(task)
    if kind is None or isinstance(rows, HashedRows) or not len(rows) or not isinstance(rows[0], OwnRow):
        return np.zeros(0, np.int64)
    read = own_data(task)
    markers = () if read is None else read.layout.markers
    return text_keys(compared_text(kind, row, markers) for row in rows)


def compared_text(kind: OwnType, row: OwnRow, markers: tuple[str, ...]) -> str:
    """The text of a row that must not be in two splits, without markers of spans; empty for a short sentence of words
    or spans, which comes again by nature.
    """
    text = without_markers(kind.compared(row), markers) if markers else kind.compared(row)
    return text if kind.labels_rows or text.count(" ") + 1 >= LEAST_WORDS else ""


def in_both(keys: Keys, others: Keys) -> Keys:
    """The indexes of the keys that are among others."""
    return np.flatnonzero((keys != 0) & np.isin(keys, others))


def shared(keys: Keys, others: Keys) -> int:
    """How many of these keys are among others."""
    return len(in_both(keys, others))


def save_keys(task: Task, rows: Sequence[Row], folder: RunFolder) -> None:
    """Writes the keys of training rows into the folder of their run."""
    keys = np.unique(keys_of(task, rows))
    if len(keys):
        with scratch_file(folder.path / FILE) as scratch, scratch.open("wb") as file:
            np.save(file, keys)


def known_keys(run: RunFolder) -> dict[str, Keys]:
    """The keys of a run's training rows by its id, then of the runs that it learned from; runs that did not keep them,
    such as those on a text, are not there. Raises UserError for a damaged record or file.
    """
    record = run.record()
    if record is None:
        return {}
    results, keys = run.path.absolute().parents[1], dict[str, Keys]()
    if (run.path / FILE).is_file():
        run.verify(FILE)
        try:
            keys[record.id] = np.load(run.path / FILE, allow_pickle=False)
        except (ValueError, OSError) as error:
            raise UserError(f"{run.path / FILE}: is damaged", "Run the recipe again with `force`") from error
    before = [] if record.lineage is None else [RunFolder.of(results, record.lineage.task, record.lineage.run)]
    teachers = [Path(name).name for name in str(record.recipe.get("distil", {}).get("teacher", "")).split(",")]
    before += [folder for name in teachers if name and (folder := find_run(name, results)) is not None]
    for folder in before:
        keys |= known_keys(folder)
    return keys


def leaks(
    task: Task, splits: Mapping[str, Rows], known: Mapping[str, Keys], typed: Sequence[str]
) -> Iterator[DataFinding]:
    """Rows of dev and test whose texts are also in train, or in `known` of earlier runs; rows of test in dev too.
    `typed` are the words behind `finetune run` that name the data.

    A dev that was drawn from the training rows is compared with these of earlier runs only: where it could be, it has
    no text of train.
    """
    read, train = own_data(task), keys_of(task, splits[task.train_split].rows)
    kind, command = type_of(task), "" if read is None else checking(typed)
    seen, dev = {OF_RUN.format(run=run): keys for run, keys in known.items()}, dict[str, Keys]()
    for split in task.dev_splits:
        keys, is_drawn = keys_of(task, splits[split].rows), splits[split].drawn and not (read and read.split)
        compared = ({} if is_drawn else {IN_SPLIT.format(split=task.train_split): train}) | seen
        for where, others in (compared | (dev if split == TEST else {})).items():
            new = keys[~np.isin(keys, train)] if where in seen else keys  # rows of train are counted once
            if kind is not None and (count := shared(new, others)):
                rows = f"{count:,} of the {len(keys):,} rows of {split}"
                yield DataFinding(
                    code=LEAK.code,
                    severity="error" if count > LEAKED * len(keys) else LEAK.severity,
                    split=split,
                    count=count,
                    what=f"{rows} have texts that {where}",
                    remedy=(SCORE_OTHERS if where in seen else LEAK.remedy).format(split=split),
                    command="" if where in seen else command,
                )
        dev[IN_SPLIT.format(split=split)] = keys
