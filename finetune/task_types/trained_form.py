"""How a file is read for a trained model: in the saved layout of its training file where that fits, else as its content
says, with questions.

Delimiter, quoting and header of a few rows can only be guessed, and a guess may take the first row for a header.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from finetune.data.detect import BY_SUFFIX, FORMATS, detect
from finetune.data.encodings import decodes, marked
from finetune.data.file_format import FileFormat, Format
from finetune.data.formats import conll, delimited, labelled_lines
from finetune.data.formats.dialect import DELIMITERS, ONE_COLUMN, Dialect, csv_reader
from finetune.data.formats.excel import Sheet, named_sheet, sheets_of
from finetune.data.formats.labelled_lines import ENDS, FASTTEXT, LabelledLines
from finetune.data.formats.word_lines import DOCUMENT, SPACES, WordLines, fields_of, is_blank, is_comment
from finetune.data.open_files import FileStart, open_bytes
from finetune.data.paths import is_file
from finetune.data.records import column_names
from finetune.data.table import Table
from finetune.data.values import NUMBER
from finetune.data.words.lists import word_list
from finetune.errors import UserError, first_line
from finetune.task_types.column_names import EXACT, NUMBERED_COLUMN, id_names, place_of
from finetune.task_types.columns import Layout
from finetune.task_types.pretraining.own import Text, reading_of

ROWS = 200  # that are inspected
REGULAR = 0.75  # share of the rows that are as wide as in training
HALF = 0.5  # of the rows or lines: with a label in more, they hold labels
MIXED_SHARE = 0.2  # share of lines with a label, from which some lines have one
NEARLY_ALL = 0.9
BETWEEN = re.compile(r"[\t,;|]")
TABLES = (".csv", ".tsv", ".tab")
IN_PROSE = re.compile(r"[,;](?![\s\d]|$)", re.MULTILINE)  # a sign between cells, which prose does not have
GUESSED: dict[str, tuple[Format, type]] = {
    "delimited": (delimited.FORMAT, Dialect),
    "word-lines": (conll.FORMAT, WordLines),
    "labelled-lines": (labelled_lines.FORMAT, LabelledLines),
}


@dataclass(frozen=True, kw_only=True)
class TrainedColumns:
    """A training file: all its columns, its text columns to read, its label columns, and its labels."""

    columns: tuple[str, ...]
    text: tuple[str, ...]
    label: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers: 0 and 1 in a column for each label, or of a regression."""
        return not self.labels or len(self.label) > 1

    def is_label(self, cell: str) -> bool:
        """Whether a cell is a label of training, or several of them."""
        cell = cell.strip()
        if self.numeric:
            return NUMBER.fullmatch(cell) is not None
        return cell in self.labels or self.labels.issuperset(re.split(r"\s*[,;| ]\s*", cell))


def form_facts(table: Table) -> dict[str, Any]:
    """How a training file was read, as JSON that its model keeps."""
    form = table.form
    facts: dict[str, Any] = {"format": form.format.name, "encoding": form.encoding}
    if isinstance(form.layout, Sheet):
        facts["sheet"] = form.layout.name
    if form.format.name in GUESSED:
        columns = [name for name in table.columns if name not in table.derived]
        facts |= {"columns": columns, "layout": asdict(form.layout)}
    return facts


def form_for(
    path: Path, trained: Layout | None, options: Mapping[str, Any], *, inputs: Sequence[str] = ()
) -> FileFormat:
    """How a file is read for a model: as in training where that fits, else as its content says.

    `inputs` are the columns of a task that is not of user data. A line is only taken for a header if it names columns.
    Raises UserError as `detect` does, for a file of which only some lines have a label, and for one without a header
    whose columns differ from training.
    """
    trained = trained or Layout(shape="", text=tuple(inputs))
    if trained.shape == Text.name:
        return reading_of(path, options)
    facts = trained.file
    layout = require_form(facts)
    start = FileStart(path, str(options.get("encoding", "")) or _encoding(path, str(facts.get("encoding", ""))))
    sheet = str(options.get("sheet", "") or facts.get("sheet", ""))
    if sheet and (options.get("sheet") or sheet in sheets_of(path)):
        return named_sheet(path, sheet)
    if not is_file(path) or any(form.sniff(start) for form in FORMATS if form.name not in GUESSED):
        return detect(path, start.given)
    named = tuple(name for name in str(options.get("text", "")).split(",") if name)
    expected = TrainedColumns(
        columns=tuple(facts.get("columns", ())) or (*trained.text, *trained.label),
        text=named or trained.text,
        label=trained.label,
        labels=frozenset((*trained.labels, *trained.names)),
    )
    moved = expected.text != trained.text and _are_numbered(named)  # in other places than in training
    fitting = None if layout is None or moved else FITS[type(layout)](start, layout, expected)
    if fitting is None:
        return _by_content(start, expected, named)
    return FileFormat.of(start, next(form for form, kind in GUESSED.values() if isinstance(fitting, kind)), fitting)


def require_form(facts: Mapping[str, Any]) -> Any:
    """The saved layout of a training file; None where its format needs none. Raises UserError for damaged facts."""
    try:
        "".encode(str(facts.get("encoding", "utf-8")))
        if str(facts.get("format")) not in GUESSED:
            return None
        _, kind = GUESSED[facts["format"]]
        layout: Any = TypeAdapter(kind).validate_json(json.dumps(facts["layout"]), strict=True)
        TypeAdapter(list[str]).validate_python(facts["columns"])
        if not _is_sound(layout):
            raise ValueError("no file has it")
        return layout
    except (TypeError, ValueError, LookupError) as error:
        raise UserError(
            f"the model's form of its training file is damaged ({first_line(error)})", "Train it again"
        ) from error


def _is_sound(layout: Dialect | WordLines | LabelledLines) -> bool:
    """Whether a saved layout could have been detected."""
    if isinstance(layout, LabelledLines):
        return layout.separator in (FASTTEXT, " ", *ENDS)
    if isinstance(layout, WordLines):
        names = bool(layout.names) and (not layout.sentence or layout.sentence in layout.names)
        return names and layout.delimiter in (SPACES, *DELIMITERS)
    return layout.delimiter in ("", *DELIMITERS) and layout.quote in ("'", '"') and layout.skip >= 0


def _encoding(path: Path, trained: str) -> str:
    """The encoding of training where that is not UTF, the file neither, and all of it is valid in it; else empty."""
    if trained[:3] in ("", "utf") or not is_file(path):
        return ""
    start = FileStart(path)
    opened = partial(open_bytes, path, compression=start.compression)
    unicode = marked(start.head) or decodes(opened, "utf-8")
    return trained if not unicode and decodes(opened, trained) else ""


def _are_numbered(names: Sequence[str]) -> bool:
    return bool(names) and all(map(NUMBERED_COLUMN.fullmatch, names))


def _first_rows(start: FileStart, dialect: Dialect) -> list[list[str]]:
    lines = start.text.splitlines(keepends=True)[dialect.skip :]
    cells = csv_reader(lines, dialect.delimiter, quoted=dialect.quoted, quote=dialect.quote)
    return [row for row, _ in zip(filter(None, cells), range(ROWS + 1), strict=False)]


def _are_regular(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether nearly all rows have so many cells."""
    return sum(len(row) == width for row in rows) >= REGULAR * len(rows)


def _dialect(start: FileStart, like: Dialect, expected: TrainedColumns) -> Dialect | None:
    """The dialect of training for rows below a header with its columns, or for rows of its columns without a header:
    with labels in their place, or of a file that had no header, without the labels.
    """
    for skip in dict.fromkeys((like.skip, 0)) if like.header else ():
        rows = _first_rows(start, replace(like, skip=skip))
        header = column_names(["", *rows[0]] if like.indexed else rows[0]) if rows else []
        if header and {*expected.text} <= {*header}:
            return replace(like, skip=skip) if _are_regular(rows[1:], len(header)) else None
    if like.delimiter != "\t" and all("\t" in line for line in start.lines[:ROWS]):
        return None  # a table at tabs, whose texts may hold the delimiter of training
    bare, names = replace(like, header=False, indexed=False, skip=0), expected.columns
    rows = _first_rows(start, bare)
    if not like.delimiter or not rows or not {*expected.text} <= {*names} or _are_names(rows[0], expected):
        return None
    place = next((place for place, name in enumerate(names) if name in expected.label), len(names))
    labelled = [place < len(row) and expected.is_label(row[place]) for row in rows]
    if labelled[0] and sum(labelled) > HALF * len(rows) and _are_regular(rows, len(names)):
        return replace(bare, names=names)
    names = tuple(name for name in names if name not in expected.label)
    if like.header or len(names) == 1 or not _are_regular(rows, len(names)):
        return None
    moved = any(expected.is_label(cell) for row in rows for cell in row)
    return None if moved else replace(bare, names=names)


def _are_names(cells: Sequence[str], expected: TrainedColumns) -> bool:
    """Whether cells are names of columns: of the training file, or usual ones."""
    stripped = {cell.strip() for cell in cells} - {""}
    if stripped & {*expected.columns, *expected.text}:
        return True
    usual = (*word_list("text"), *word_list("text_weak"))
    if len(cells) > 1:
        if stripped & expected.labels:
            return False  # `no` may be a label, and the name of a column of numbers
        usual = (*usual, *word_list("label"), *word_list("label_subject"), *id_names())
    return any((place_of(cell, usual) or (0,))[0] == EXACT for cell in stripped)


def _word_lines(start: FileStart, like: WordLines, expected: TrainedColumns) -> WordLines | None:
    """The columns of training for lines as wide as there, or without the tags."""
    if like.delimiter == SPACES and all("\t" in line for line in start.lines[:ROWS]):
        like = replace(like, delimiter="\t")
    lines = [line for line in re.split(r"\r\n|\n|\r", start.text)[:3000] if not line.startswith(DOCUMENT)]
    rows = [(line, fields_of(line, like.delimiter, quoted=like.quoted)) for line in lines]
    for names in (like.names, tuple(name for name in like.names if name not in expected.label)):
        filled = [row for line, row in rows if not is_blank(line, row) and not is_comment(line, row, len(names))]
        header = bool(filled) and [cell.strip() for cell in filled[0]] == [*names]
        below = filled[header:]
        fitting = [row for row in below if len(row) == len(names) and not any(" " in cell.strip() for cell in row)]
        table = any(sum(sign in line for line in start.lines) > NEARLY_ALL * len(start.lines)
                    for sign in DELIMITERS if sign != like.delimiter and names != like.names)  # fmt: skip
        if below and {*expected.text} <= {*names} and len(fitting) >= REGULAR * len(below) and not table:
            return replace(like, names=names, header=header)
    return None


def _labelled_lines(start: FileStart, like: LabelledLines, expected: TrainedColumns) -> LabelledLines | Dialect | None:
    """The layout of training for lines with a label; lines without any are texts, unless the suffix is of a table.

    Raises UserError where only some lines have one.
    """
    marked = like.separator == FASTTEXT
    cells = [like.cells(line) or ([], "") for line in start.lines[:ROWS]]
    labels = [[label] if isinstance(label, str) else label or [] for label, _ in cells]
    share = sum(bool(names) and (marked or not expected.labels.isdisjoint(names)) for names in labels) / len(labels)
    if share >= REGULAR or (marked and share):
        return like
    if share > MIXED_SHARE:
        raise UserError(
            f"{start.path}: only {share:.0%} of its lines have a label that the model knows",
            "Give each line a label as in the training file, or none",
        )
    lines_of_text = start.suffix == ".txt" or start.suffix not in BY_SUFFIX  # no table, no document
    return replace(ONE_COLUMN, names=("text",)) if lines_of_text else None


FITS: Mapping[type, Any] = {Dialect: _dialect, WordLines: _word_lines, LabelledLines: _labelled_lines}


def _by_content(start: FileStart, expected: TrainedColumns, named: Sequence[str]) -> FileFormat:
    """A file that is read as its content says; its first row is one, unless that names columns, of which the user may
    have `named` the texts.
    """
    detected = detect(start.path, start.given)
    if not isinstance(detected.layout, Dialect):
        return detected
    first, dialect, table = delimited.first_cells(start.path, detected), detected.layout, start.suffix in TABLES
    bare = replace(detected, layout=replace(dialect, header=False))
    if _are_numbered(named):
        return bare
    if named or _are_names(first, expected):
        return detected
    labelled = len(first) > 1 and any(expected.is_label(part) for cell in first for part in BETWEEN.split(cell))
    if len(first) == 1:
        words = [len(" ".join(row).split()) for row in _first_rows(start, dialect)]
        if table and len(words) > 2 and words[0] == 1 < min(words[1:]):
            return detected  # a word above texts
        skip = dialect.skip if table else 0
        return replace(detected, layout=ONE_COLUMN if dialect.delimiter else replace(bare.layout, skip=skip))
    if not table and not labelled and len(expected.text) == 1:
        return detected if IN_PROSE.search(start.text) else replace(detected, layout=ONE_COLUMN)
    if not table and len(first) == len(expected.text) and not labelled:
        return replace(detected, layout=replace(bare.layout, names=expected.text))
    if labelled or _are_numbered(expected.text):
        raise UserError(
            f"{start.path}: has {len(first)} columns and no header, unlike the training file, whose text was"
            f" {', '.join(expected.text)}",
            "Put the names of the columns above the rows, or name that of the text by its number, from 1 to"
            f" {len(first)}: text='column NUMBER'",
        )
    return detected
