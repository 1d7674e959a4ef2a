"""A user's own data as a task and as a recipe: `finetune run reviews.csv`."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from finetune.data.cells import NoRow, row_of
from finetune.data.guess import guess
from finetune.data.layout import Layout, Shape, found_labels
from finetune.data.reading import Record, Table, read_table
from finetune.data.splits import dev_rows, number_strata, split_files
from finetune.errors import UserError, first_line
from finetune.heads.choice import ChoiceTask
from finetune.heads.multilabel import MultiLabelRow, MultiLabelTask
from finetune.heads.sentence import SentenceRow, SentenceTask
from finetune.heads.span import SpanRow, SpanTask
from finetune.heads.tagging import TaggingRow, TaggingTask
from finetune.metrics import ClassScore, Metric, accuracy, macro_f1, pearson, spearman
from finetune.source import Source
from finetune.targets import data_name
from finetune.task import Row, Rows, Task

OPTIONS = ("shape", "text", "label", "id", "group", "dev", "test", "split")  # that say what the data is
SHOWN = 3  # row numbers in a note
MOST_CLASSES = 50  # of which scores are given for each


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """Reads the splits of a user's files: `OwnData(...)(source, split)` gives rows, with a note of those left out."""

    layout: Layout
    files: Mapping[str, Path]
    split: str = ""

    def __call__(self, _: Source, split: str) -> Rows:
        """The rows of a split that can be used; rows for training and for dev without a label are left out."""
        if split not in self.files and split != "dev":
            raise UserError(f"the data has no split '{split}'", f"It has {', '.join({**self.files, 'dev': ''})}")
        path = self.files.get(split, self.files["train"])
        usable, notes = usable_rows(self.layout, table_of(path), unlabelled=split == "test")
        rows = _distinct([row for row, _ in usable])
        if not rows:
            raise UserError(
                "no row can be used: " + "; ".join(notes or [f"{path} has none"]), "Look at `finetune check`"
            )
        if "dev" in self.files or split == "test":
            return Rows(rows=rows, origin=str(path), notes=tuple(notes))
        chosen = self._given(rows) if self.split else drawn_for_dev(self.layout, usable)
        rows = [row for index, row in enumerate(rows) if (index in chosen) == (split == "dev")]
        if split == "dev":
            notes = [f"{path}: {len(rows)} rows were {self._rule()}"]
        return Rows(rows=rows, origin=str(path), notes=tuple(notes), drawn=True)

    def _given(self, rows: Sequence[Row]) -> set[int]:
        """Numbers of the dev rows of an earlier run. Raises UserError where they are not in the data."""
        try:
            names = set(json.loads(Path(self.split).read_text(encoding="utf-8"))["dev"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{self.split}: is no split.json of a run ({first_line(error)})", "Name one") from error
        chosen = {index for index, row in enumerate(rows) if row.id in names}
        if len(chosen) < len(names):
            raise UserError(
                f"{self.split}: {len(names) - len(chosen)} of its dev rows are not in the data", "Leave split= out"
            )
        return chosen

    def _rule(self) -> str:
        if self.split:
            return f"taken for dev as {self.split} has them"
        together = f"each {self.layout.group} on one side" if self.layout.group else "equal texts on one side"
        return f"drawn for dev, {together}; dev=FILE names a file instead"


def every_option() -> tuple[str, ...]:
    """What a recipe may set for data of any shape."""
    shapes = (SentenceTask, MultiLabelTask, TaggingTask, SpanTask, ChoiceTask)
    return tuple(dict.fromkeys((*OPTIONS, *(name for kind in shapes for name in kind.options))))


def own_task(name: str, options: Mapping[str, Any]) -> Task:
    """The task of a file or folder; `options` are those of `OPTIONS`, what they leave open is guessed."""
    given = {key: str(value) for key, value in options.items()}
    files = split_files(Path(name), dev=given.pop("dev", ""), test=given.pop("test", ""))
    split = given.pop("split", "")
    table = table_of(files["train"])
    layout = guess(table, given)
    others = {split: table_of(file) for split, file in files.items() if split != "train"}
    labels = [found_labels(layout, part.columns) for part in others.values()]
    layout = replace(layout, labels=tuple(dict.fromkeys((*layout.labels, *(name for some in labels for name in some)))))
    if not layout.label:
        raise UserError(
            f"{files['train']}: no column with labels was found",
            f"Name it: label=COLUMN, one of {', '.join(table.columns)}",
        )
    scored = "test" in others and bool(set(layout.label) <= set(others["test"].columns))
    task = trained_task(layout, name=data_name(name), read=OwnData(layout=layout, files=files, split=split))
    return replace(task, dev_splits=("dev", "test")) if scored else task


def trained_task(layout: Layout, *, name: str, read: Any = None) -> Task:
    """The task that a layout describes; without a reader it only predicts."""
    given: dict[str, Any] = {"name": name, "read": read}
    if layout.shape == "tagging":
        return TaggingTask(types=layout.labels, **given)
    if layout.shape == "span":
        return SpanTask(unanswerable=layout.unanswerable, **given)
    if layout.shape == "choice":
        return ChoiceTask(counted_from=layout.counted_from, **given)
    if layout.shape == "multi-label":
        return MultiLabelTask(labels=layout.labels, windows=True, **given)
    scorers: dict[str, Metric] = {"spearman": spearman, "pearson": pearson}
    if layout.shape == "classification":
        if read is not None and len(layout.labels) < 2:
            raise UserError(
                f"the column '{layout.label[0]}' has only one label, {', '.join(layout.labels) or 'none'}",
                "Training needs two or more; name another column with label=COLUMN",
            )
        scorers = {"macro f1": macro_f1, "accuracy": accuracy}
        if len(layout.labels) <= MOST_CLASSES:
            parts = ("f1", "precision", "recall")
            scorers |= {f"{label}/{part}": ClassScore(label, part) for label in layout.labels for part in parts}
    labels = layout.labels if layout.shape == "classification" else ()
    return SentenceTask(labels=labels, metrics=tuple(scorers), scorers=scorers, windows=True, **given)


def shape_of(task: Task) -> Shape | None:
    """The shape whose files a task's model can read; None for a shape that is not one of the package's."""
    if isinstance(task, SentenceTask):
        return "regression" if task.regression else "classification"
    kinds: tuple[tuple[type[Task], Shape], ...] = (
        (MultiLabelTask, "multi-label"),
        (TaggingTask, "tagging"),
        (SpanTask, "span"),
        (ChoiceTask, "choice"),
    )
    return next((shape for kind, shape in kinds if isinstance(task, kind)), None)


def usable_rows(
    layout: Layout, table: Table, *, unlabelled: bool = False
) -> tuple[list[tuple[Row, Record]], list[str]]:
    """The rows of a table with their records, and a note for each kind of those that were left out."""
    rows: list[tuple[Row, Record]] = []
    out: dict[str, list[Record]] = {"that could not be read": list(table.faults)}
    for record in table.records():
        try:
            row = row_of(layout, record)
        except NoRow as fault:
            out.setdefault(f"that cannot be used: the first {fault}", []).append(record)
            continue
        if not unlabelled and _gold(row) is None:
            out.setdefault("without a label", []).append(record)
        else:
            rows.append((row, record))
    merged = _merged(out)
    return rows, [
        f"{table.path}: {len(some)} rows {why} ({numbers(some)}); left out" for why, some in merged.items() if some
    ]


def numbers(records: Sequence[Record]) -> str:
    """`rows 3, 17, 40 and 9 more; lines 4, 18, 41`."""
    shown = records[:SHOWN]
    more = f" and {len(records) - SHOWN:,} more" if len(records) > SHOWN else ""
    rows = f"row{'s' * (len(records) > 1)} {', '.join(str(record.row) for record in shown)}{more}"
    if all(record.row == record.line for record in shown):
        return rows
    return f"{rows}; line{'s' * (len(shown) > 1)} {', '.join(str(record.line) for record in shown)}"


def drawn_for_dev(layout: Layout, rows: Sequence[tuple[Row, Record]]) -> set[int]:
    """Which of the rows are dev: stratified by label, by group where there is one, equal texts on one side."""
    groups = [record.values.get(layout.group) for _, record in rows] if layout.group else None
    return dev_rows([unit_text(row) for row, _ in rows], _strata(layout, [row for row, _ in rows]), groups)


def unit_text(row: Row) -> str:
    """What rows that say the same have in common: their text, context, words or document."""
    if isinstance(row, TaggingRow):
        return row.document or " ".join(row.words)
    text = row.text if isinstance(row, SentenceRow | MultiLabelRow) else row.context
    return " ".join(f"{text} {getattr(row, 'pair', None) or ''}".lower().split())


def layout_of(task: Task) -> dict[str, Any] | None:
    """What a saved model must know of its data's columns, as JSON; None for a task that is not a user's own."""
    read = getattr(task, "read", None)
    return {**asdict(read.layout), "reasons": {}} if isinstance(read, OwnData) else None


def layout_from(saved: Mapping[str, Any]) -> Layout:
    """A layout as `layout_of` gave it."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in saved.items()}
    return Layout(**values)


def _strata(layout: Layout, rows: Sequence[Row]) -> list[Any]:
    """What each of the two sides should have alike: labels, or tenths of the numbers."""
    if layout.shape == "regression":
        return number_strata([row.gold for row in rows])
    return [row.gold for row in rows] if layout.shape in ("classification", "multi-label") else [""] * len(rows)


def _gold(row: Row) -> Any:
    return row.answers if isinstance(row, SpanRow) else row.gold


def _merged(out: Mapping[str, list[Record]]) -> dict[str, list[Record]]:
    """The faults in few words: all that cannot be used under the first one's reason."""
    merged: dict[str, list[Record]] = {}
    for why, records in out.items():
        unusable = next((key for key in merged if key.startswith("that cannot be used")), why)
        merged.setdefault(unusable if why.startswith("that cannot be used") else why, []).extend(records)
    return merged


def _distinct(rows: list[Row]) -> list[Row]:
    """The rows with an id each: a second `a` becomes `a-2`."""
    seen: Counter[str] = Counter()
    new = []
    for row in rows:
        seen[row.id] += 1
        new.append(row if seen[row.id] == 1 else replace(row, id=f"{row.id}-{seen[row.id]}"))
    return new


@lru_cache(maxsize=4)
def _read(path: Path, _: tuple[int, int]) -> Table:
    return read_table(path)


def table_of(path: Path) -> Table:
    """The file's table, read once as long as the file does not change."""
    try:
        stat = path.stat()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})", "Check its name") from error
    return _read(path, (stat.st_mtime_ns, stat.st_size))
