"""The rows with labels that a run read: what need not be labelled again, and what the next run trains on too."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.data.paths import exists, is_file, read_small
from finetune.data.reading import records
from finetune.data.records import Record
from finetune.data.rows import OwnRow, Row
from finetune.data.source import Source, content_hash
from finetune.errors import UserError, first_line
from finetune.runs.folder import RunFolder
from finetune.runs.kept_head import OLD_DEV
from finetune.runs.record import RunRecord
from finetune.task_types.columns import Layout
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for
from finetune.training.old_model import OldModel

MOST_BYTES = 1_000_000_000  # of a split.json, which has the ids of all rows


@dataclass(frozen=True, kw_only=True)
class OwnRows:
    """The labelled rows of a user's training file, read again for each use; `dev` are the ids of those that were drawn
    to be dev, None where dev is a file of its own or unknown.
    """

    path: Path
    layout: Layout
    encoding: str
    sheet: str
    dev: frozenset[str] | None

    def __iter__(self) -> Iterator[tuple[Record, OwnRow]]:
        """Each record with its row."""
        options = {"encoding": self.encoding, "sheet": self.sheet}
        for record in records(self.path, form_for(self.path, self.layout, options)):
            try:
                row = row_of(self.layout, record)
            except NoRow:
                continue
            if row.gold is not None:
                yield record, row


def own_rows(folder: RunFolder, record: RunRecord, layout: Layout | None) -> OwnRows | None:
    """Those of a run on a user's file; None for another task, or where the file is not there."""
    path = Path(record.data_origin.get(record_split(record), ""))
    if layout is None or not is_file(path):
        return None
    options: dict[str, Any] = record.recipe.get("options", {})
    return OwnRows(
        path=path,
        layout=layout,
        encoding=str(options.get("encoding", "")),
        sheet=str(options.get("sheet", "")),
        dev=_drawn_dev(folder),
    )


def record_split(record: RunRecord) -> str:
    """The split that a run trained on."""
    return "train" if "train" in record.data_origin else next(iter(record.data_origin), "train")


def labelled_texts(
    record: RunRecord, task: Task, layout: Layout | None, own: OwnRows | None, source: Source
) -> tuple[list[str], str]:
    """The inputs of all rows that a run trained on or was scored on, and a note where they are not all known."""
    if layout is None:
        return _of_task(task, record, source)
    texts = [row.input for _, row in own] if own is not None else []
    lost = [] if own is not None else [record.data_origin.get(record_split(record), "its training file")]
    for split, origin in _own_origins(record).items():
        if split == record_split(record) or (own is not None and Path(origin) == own.path):
            continue
        if not is_file(Path(origin)):
            lost.append(origin)
            continue
        texts += [row.input for _, row in OwnRows(path=Path(origin), layout=layout, encoding="", sheet="", dev=None)]
    if lost:
        where = ", ".join(lost)
        return texts, f"{where} is not here: its rows are neither left out nor written; start where the run was started"
    changed = own is not None and record.data_files.get("train") not in (None, content_hash(own.path))
    return texts, f"{own.path} has changed since the run: its rows are those of now" if own and changed else ""


def earlier_texts(folder: RunFolder, record: RunRecord, source: Source) -> tuple[list[str], str]:
    """The inputs of all rows of the runs whose labels `keep_labels` kept; a note where some are lost."""
    texts, lost = list[str](), list[str]()
    while record.kept is not None and record.lineage is not None:
        folder = RunFolder.of(folder.path.parents[1], record.lineage.task, record.kept.run)
        before = folder.record()
        if before is None:
            lost.append(f"run {record.kept.run} is not there")
            break
        record = before
        try:
            old = OldModel(folder=folder, record=record, task=trained_on(folder))
        except UserError as error:  # its model was deleted, and its task is known from that alone
            lost.append(error.what)
            continue
        for read in (_trained, _dev):
            try:
                texts += [row.input for row in read(old, source)]
            except UserError as error:
                lost.append(error.what)
    return texts, f"old rows are not left out where the pool has them ({'; '.join(lost)})" if lost else ""


def _trained(old: OldModel, source: Source) -> Sequence[Row]:
    return old.training_rows(source)[1].rows


def _dev(old: OldModel, _: Source) -> Sequence[Row]:
    return old.dev()[0]


def _own_origins(record: RunRecord) -> dict[str, str]:
    """The origin of each split, but of the dev rows of a run that was trained again."""
    return {split: origin for split, origin in record.data_origin.items() if split != OLD_DEV}


def _of_task(task: Task, record: RunRecord, source: Source) -> tuple[list[str], str]:
    try:
        found = [row.input for split in _own_origins(record) for row in task.load(source, split).rows]
    except UserError as error:
        return [], f"the rows of {task.name} are not left out where the pool has them ({error.what})"
    return found, ""


def _drawn_dev(folder: RunFolder) -> frozenset[str] | None:
    file = folder.path / "split.json"
    if not exists(file):
        return None
    try:
        found = json.loads(read_small(file, most=MOST_BYTES))
        return frozenset(found["dev"]) if "dev" in found else None
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{file}: cannot be parsed ({first_line(error)})", "Run it again with `force`") from error
