"""A user's own data as a task and as a recipe: `finetune run reviews.csv`."""

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from finetune.data.characters import same_text
from finetune.data.checksums import content_hash
from finetune.data.files import split_files
from finetune.data.formats.excel import named_sheet
from finetune.data.in_memory import data_name_of
from finetune.data.issues import REJECTED
from finetune.data.messages import places, shown, so_many
from finetune.data.paths import is_file, paths_in, read_small, require_utf_8
from finetune.data.reading import forget_tables, joined_tables, table_of
from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.data.table import Table
from finetune.errors import UserError, first_line
from finetune.runs.folder import data_name
from finetune.task_types.classification.labels import with_mistakes, with_order
from finetune.task_types.classification.marked import without_markers
from finetune.task_types.columns import OPTIONS, Layout, NoRow
from finetune.task_types.declared import declared_names
from finetune.task_types.dev_split import drawn_for_dev
from finetune.task_types.first_rows import (
    describe_rows,
    dev_by_column,
    file_line,
    is_saved_split,
    slices_of,
    tokens_of_nearly_all,
)
from finetune.task_types.guess import guess, labels_in_order
from finetune.task_types.pretraining.own import is_text, text_task
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_facts, form_for
from finetune.task_types.types import UnknownLabels, named_type, own_types, rows_of, trained_task

NOT_GUESSED = ("encoding", "sheet", "keep", "drop", "order")  # options that the columns do not leave open
ROWS_SHOWN = 3
MOST_BYTES = 1_000_000_000  # of a split.json, which has the ids of all rows
MANY_ROWS = 50_000  # of a file whose table is not kept in memory next to its rows


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """Reads the splits of a user's files: `OwnData(...)(source, split)` returns rows, with notes on those left out."""

    has_columns: ClassVar[bool] = True  # by which `own_data` knows it
    layout: Layout
    files: Mapping[str, Path]
    split: str = ""
    encoding: str = ""
    sheet: str = ""
    model: Task | None = None  # the task of a trained model: rows with a label that it does not know are left out
    kept: dict[str, Rows] = field(default_factory=dict, init=False, repr=False, compare=False)  # rows are read once

    def __call__(self, _: Source, split: str) -> Rows:
        """The usable rows of a split; rows of train and dev without a label are left out."""
        if split not in self.files and split != "dev":
            raise UserError(f"the data has no split '{split}'", f"It has {', '.join({**self.files, 'dev': ''})}")
        if split not in self.kept:
            self.kept.update(self._read(self.files.get(split, self.files["train"]), split))
        return self.kept[split]

    def table(self, path: Path) -> Table:
        """The table of a file, read as for the model where there is one. Raises UserError as reading it does."""
        if self.model is None:
            return own_table(path, self.encoding, self.sheet)
        options = {"encoding": self.encoding, "sheet": self.sheet, "text": ",".join(self.layout.text)}
        return table_of(path, self.encoding, form_for(path, self.layout, options))

    def size(self, split: str) -> int:
        """The number of rows of a split's file that could be read."""
        return len(next(iter(self.table(self.files[split]).columns.values()), []))

    @property
    def tokens(self) -> float:
        """About how many tokens nearly all texts have."""
        return tokens_of_nearly_all(self.layout, self.table(self.files["train"]).columns)

    @property
    def described(self) -> Sequence[str]:
        """Lines that say how the files were read, with the first rows."""
        lines = list[str]()
        for split, file in self.files.items():
            table = self.table(file)
            lines.append(file_line(split, table))
            lines += describe_rows(self.layout, table, split=self.split) if split == "train" else ()
        return lines

    @property
    def scored(self) -> bool:
        """Whether there are test rows with labels."""
        return "test" in self.files and not self.unlabelled("test")

    def unlabelled(self, split: str) -> str:
        """Why the test file counts as one without labels, in words; empty for one with labels, and for other splits."""
        if split != "test" or not self.layout.label:
            return ""
        table = self.table(self.files["test"])
        if lacking := [name for name in self.layout.label if name not in table.columns]:
            return f"it has no column {' or '.join(map(shown, lacking))}"
        labels = self._labels(table)
        if (first := next(labels, None)) is None:
            return "no row has one"
        if any(label != first for label in labels) or first in self._labels(self.table(self.files["train"])):
            return ""
        return f"all rows have {shown(str(first))}, which no training row has"

    def _labels(self, table: Table) -> Iterator[Any]:
        """The labels of the usable rows that have one."""
        rows = (row for _, row in rows_of(self.layout, table) if not isinstance(row, NoRow))
        return (row.gold for row in rows if row.gold is not None)

    def _read(self, path: Path, split: str) -> dict[str, Rows]:
        """The split of a file; train and dev, if dev is drawn. Of a large file no table is kept."""
        table = self.table(path)
        unlabelled = split == "test" and (self.model is not None or not self.scored)
        model = self.model
        if split == "test" and named_type(self.layout.shape).closed_labels and not unlabelled:
            model = trained_task(self.layout, name="")  # one that no training row has makes no class
        rows, indexes, notes = usable_rows(self.layout, table, unlabelled=unlabelled, model=model)
        if self.layout.id:
            rows = with_distinct_ids(rows)
        if not rows:
            raise UserError(
                "no row can be used: " + "; ".join(notes or [f"{path} has none"]), "Run `finetune check` to see why"
            )
        notes = [note for part in paths_in(path) for note in self.table(part).form.encoding_notes(part)] + notes
        read = Rows(
            rows=(), origin=str(path), content=content_hash(path), drawn=split != "test" and "dev" not in self.files
        )
        splits = {split: (rows, notes)}
        if read.drawn:
            groups = self._groups(table, rows, indexes)
            chosen = self._chosen(table, rows, indexes, groups)
            dev = [rows[index] for index in sorted(chosen)]
            rows = [row for index, row in enumerate(rows) if index not in chosen]
            held_out = f"{data_name_of(path)}: {so_many(len(dev))} {'was' if len(dev) == 1 else 'were'} {self._rule()}"
            indexes = [index for place, index in enumerate(indexes) if place in chosen]
            splits = {"train": (rows, notes), "dev": (dev, [held_out])}
        slices = {} if split == "train" and not read.drawn else slices_of(self.layout, table, indexes)
        read_splits = {
            name: replace(read, rows=split_rows, notes=tuple(split_notes), slices={} if name == "train" else slices)
            for name, (split_rows, split_notes) in splits.items()
        }
        if len(table) >= MANY_ROWS:
            forget_tables()
        return read_splits

    def _groups(self, table: Table, rows: Sequence[Row], indexes: Sequence[int]) -> list[Any] | None:
        """What rows on one side share besides equal texts: their group, or the text in which two spans are marked."""
        if self.layout.group:
            return [table.columns[self.layout.group][index] for index in indexes]
        markers = self.layout.markers
        return [same_text(without_markers(row.text, markers)) for row in rows] if markers else None

    def _chosen(self, table: Table, rows: Sequence[Row], indexes: Sequence[int], groups: Any) -> set[int]:
        """The indexes of the dev rows: by a column, by an earlier run, or drawn."""
        if not self.split:
            return drawn_for_dev(named_type(self.layout.shape), rows, groups)
        if is_saved_split(table, self.split):
            return self._given(rows)
        return dev_by_column(table, self.split, indexes)

    def _given(self, rows: Sequence[Row]) -> set[int]:
        """The indexes of the dev rows of an earlier run. Raises UserError where they are not in the data."""
        try:
            names = set(json.loads(read_small(Path(self.split), most=MOST_BYTES))["dev"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(
                f"{self.split}: cannot be parsed as a run's split.json ({first_line(error)})", "Name one"
            ) from error
        chosen = {index for index, row in enumerate(rows) if row.id in names}
        if len(chosen) < len(names):
            raise UserError(
                f"{self.split}: {len(names) - len(chosen)} of its dev rows are not in the data", "Leave split= out"
            )
        return chosen

    def _rule(self) -> str:
        if self.split:
            says = "as listed in" if is_file(Path(self.split)) else "as says the column"
            return f"taken as dev, {says} {self.split}"
        together = f"each {self.layout.group} on one side" if self.layout.group else "duplicates kept together"
        return f"held out as dev, {together}; use dev=FILE for your own"


def own_table(path: Path, encoding: str, sheet: str) -> Table:
    """The table of a file, of a workbook that of a sheet, or of several files with commas between them.

    Raises UserError for a sheet that does not exist, and for files whose columns differ.
    """
    parts = paths_in(path)
    return joined_tables([table_of(part, encoding, named_sheet(part, sheet) if sheet else None) for part in parts])


def every_option() -> tuple[str, ...]:
    """The options that a recipe may set for user data of any type."""
    declared = (name for kind in own_types().values() for name in declared_names(kind.task_class))
    return tuple(dict.fromkeys((*OPTIONS, *declared)))


def own_task(name: str, options: Mapping[str, Any]) -> Task:
    """The task of a file or folder; `options` are those of `OPTIONS`, the rest is guessed."""
    if is_text(name, options):
        return text_task(name, options)
    require_utf_8(name)
    texts = setting_texts(options)
    files = split_files(Path(name), dev=texts.get("dev", ""), test=texts.get("test", ""))
    layout = found_layout(files, texts)
    places = {key: texts.get(key, "") for key in ("split", "encoding", "sheet")}
    read = OwnData(layout=layout, files=files, **places)
    task = trained_task(layout, name=data_name(name), read=read)
    return replace(task, dev_splits=("dev", "test")) if read.scored else task


def found_layout(files: Mapping[str, Path], options: Mapping[str, Any]) -> Layout:
    """The layout of the files of the splits; `options` are as typed."""
    settings = {key: value for key, value in options.items() if key not in ("dev", "test", "split")}
    encoding, sheet, keep, drop, order = (settings.pop(name, "") for name in NOT_GUESSED)
    tables = {split: own_table(file, encoding, sheet) for split, file in files.items()}
    layout = replace(guess(tables["train"], settings), file=form_facts(tables["train"]))
    counts = {split: _label_rows(layout, table) for split, table in tables.items()}
    layout = with_mistakes(layout, sum(counts.values(), Counter()), keep, drop)
    learned = [counts[split] for split in files if split != "test"]  # a label of test alone makes no class
    labels = labels_in_order({label for counted in learned for label in counted} - {*layout.mistakes})
    if len(layout.label) > 1 and {*labels} < {*layout.label}:
        labels = layout.label  # columns of 0 and 1, some without a 1
    return with_order(replace(layout, labels=tuple(layout.names.values()) if layout.by_position else labels), order)


def _label_rows(layout: Layout, table: Table) -> Counter[str]:
    """The usable rows that have each label; none where labels are from no closed set."""
    kind = named_type(layout.shape)
    rows = (row for _, row in rows_of(layout, table) if not isinstance(row, NoRow)) if kind.closed_labels else ()
    return Counter(label for row in rows for label in {*kind.labels_in(row.gold)})


def setting_texts(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of data as texts, except `labels` and `order`."""
    return {key: value if key in ("labels", "order") else _text(value) for key, value in options.items()}


def _text(value: Any) -> str:
    """A setting as it is typed; of a list its items, with commas."""
    if isinstance(value, list | tuple):  # in one of numbers, whole ones have become floats
        return ",".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def task_on(
    task: Task,
    layout: Layout,
    files: Mapping[str, Path],
    *,
    name: str,
    scored: tuple[str, ...],
    encoding: str = "",
    sheet: str = "",
) -> Task:
    """A trained task that reads other files, with the columns of `layout` and with `scored` as dev splits."""
    bare = named_type(layout.shape).fitted(replace(layout, id="", group=""), task)
    read = OwnData(layout=bare, files=files, encoding=encoding, sheet=sheet, model=task)
    reader: Any = {"read": read}
    return replace(task, name=data_name(name), dev_splits=scored, **reader)


def usable_rows(
    layout: Layout, table: Table, *, unlabelled: bool = False, model: Task | None = None
) -> tuple[list[Row], Sequence[int], list[str]]:
    """The usable rows of a table, their indexes, and a note for each reason why others were left out.

    With the task of a trained `model`, rows with a label that it does not know are left out, too.
    """
    named_type(layout.shape).as_written(layout, table)
    unknown = UnknownLabels(task=model, layout=layout) if model is not None else None
    rows, indexes = list[Row](), array("q")
    out: dict[str, list[tuple[int, int]]] = {}
    for record in table.faults:
        rejected = record.fault is not None and record.fault.issue is REJECTED
        why = "that were rejected or skipped in the labelling tool" if rejected else "that could not be read"
        out.setdefault(why, []).append((record.row, record.line))
    unusable: dict[str, str] = {}  # by the issue
    for index, row in rows_of(layout, table):
        if isinstance(row, NoRow):
            why = unusable.setdefault(row.fault.issue.code, f"that cannot be used: the first {row}")
            out.setdefault(why, []).append((table.rows[index], table.lines[index]))
        elif not unlabelled and row.gold is None:
            out.setdefault("without a label", []).append((table.rows[index], table.lines[index]))
        elif unknown is None or not unknown.adds(row, (table.rows[index], table.lines[index])):
            rows.append(row)
            indexes.append(index)
    file = data_name_of(table.path)
    notes = [
        f"{file}: {so_many(len(lines))} {why} ({places(lines, most=ROWS_SHOWN)}); left out"
        for why, lines in out.items()
    ]
    notes += [f"{file}: {note}; left out" for note in (unknown.notes() if unknown else ())]
    changes = {**table.changes, **named_type(layout.shape).changes(layout, table)}
    return (rows, indexes, [*notes, *(f"{file}: {what} ({_places(table, lines)})" for what, lines in changes.items())])


def _places(table: Table, indexes: Sequence[int]) -> str:
    return places([(table.rows[index], table.lines[index]) for index in indexes], most=ROWS_SHOWN)


def with_distinct_ids(rows: list[Row]) -> list[Row]:
    """The rows with unique ids: a second `a` becomes `a-2`."""
    seen: Counter[str] = Counter()
    new = []
    for row in rows:
        seen[row.id] += 1
        new.append(row if seen[row.id] == 1 else replace(row, id=f"{row.id}-{seen[row.id]}"))
    return new
