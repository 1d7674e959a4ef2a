"""How a file is read for a trained model: as its training file was, whose form the model keeps, where that fits.

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

from finetune.data.detect import detect
from finetune.data.encodings.unicode import decodes, marked
from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.formats import conll, delimited, labelled_lines
from finetune.data.formats.dialect import DELIMITERS, Dialect, csv_reader
from finetune.data.formats.excel import Sheet, named_sheet, sheets_of
from finetune.data.formats.labelled_lines import ENDS, FASTTEXT, LabelledLines
from finetune.data.formats.registry import FORMATS
from finetune.data.formats.word_lines import DOCUMENT, SPACES, WordLines, fields_of, is_blank, is_comment
from finetune.data.open_files import open_bytes
from finetune.data.paired_files import ONE_COLUMN
from finetune.data.paths import is_file
from finetune.data.records import column_names
from finetune.data.table import Table
from finetune.data.values import NUMBER
from finetune.errors import UserError, first_line
from finetune.task_types.column_names import EXACT, place_of
from finetune.task_types.columns import Layout
from finetune.task_types.name_words import IDS, LABELS, STRONG_LABELS, STRONG_TEXTS, WEAK_TEXTS
from finetune.task_types.text.columns import Text
from finetune.task_types.text.own import form_of

GUESSED: dict[str, tuple[Format, type]] = {
    "delimited": (delimited.FORMAT, Dialect),
    "word-lines": (conll.FORMAT, WordLines),
    "labelled-lines": (labelled_lines.FORMAT, LabelledLines),
}
TEXTS, OTHERS = (*STRONG_TEXTS, *WEAK_TEXTS), (*STRONG_LABELS, *LABELS, *IDS)  # usual names of columns
ROWS = 200  # that are inspected
REGULAR = 0.75  # share of the rows that are as wide as in training
MIXED = 0.2  # share of lines with a label, from which some lines have one
ENDS_OF_LABELS = (FASTTEXT, " ", *ENDS)  # what separates a label from its text
NUMBERED = re.compile(r"column \d+")
TABLES = (".csv", ".tsv", ".tab")
IN_PROSE = re.compile(r"[,;](?![\s\d]|$)", re.MULTILINE)  # a sign between cells, which prose does not have


@dataclass(frozen=True, kw_only=True)
class Trained:
    """The columns of a training file: all, those of the texts that are to be read, and of the label; known labels."""

    columns: tuple[str, ...]
    text: tuple[str, ...]
    label: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    layout: Any = None

    @property
    def unlabelled(self) -> tuple[str, ...]:
        """The columns of such a file without labels."""
        return tuple(name for name in self.columns if name not in self.label)


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
    Raises UserError as `detect` does, and for a file of which only some lines have a label.
    """
    if trained is not None and trained.shape == Text.name:
        return form_of(trained.shape, path, options)
    facts = trained.file if trained is not None else {}
    layout = require_form(facts)
    start = FileStart(path, str(options.get("encoding", "")) or _encoding(path, str(facts.get("encoding", ""))))
    sheet = str(options.get("sheet", "") or facts.get("sheet", ""))
    if sheet and (options.get("sheet") or sheet in sheets_of(path)):
        return named_sheet(path, sheet)
    if not is_file(path) or any(one.sniff(start) for one in FORMATS if not one.text):
        return detect(path, start.given)
    known = replace(_known(trained, facts, options, inputs), layout=layout)
    return replace(_text_form(start, known, str(options.get("text", ""))), path=path)


def _text_form(start: FileStart, known: Trained, named: str) -> FileFormat:
    """How a file of text is read; `named` are the columns of texts that the user named."""
    if known.layout is None or (found := FITS[type(known.layout)](start, known)) is None:
        return _with_first_row(start, detect(start.path, start.given), known, named)
    text = start.encoding
    return FileFormat(
        format=next(format for format, kind in GUESSED.values() if isinstance(found, kind)),
        compression=start.compression,
        encoding=text.name,
        damaged=text.damaged,
        sample=text.sample,
        layout=found,
    )


def _known(
    trained: Layout | None, facts: Mapping[str, Any], options: Mapping[str, Any], inputs: Sequence[str]
) -> Trained:
    named = tuple(name for name in str(options.get("text", "")).split(",") if name)
    if trained is None:
        return Trained(columns=tuple(inputs), text=named or tuple(inputs))
    return Trained(
        columns=tuple(facts.get("columns", ())) or (*trained.text, *trained.label),
        text=named or trained.text,
        label=trained.label,
        labels=frozenset((*trained.labels, *trained.names)),
    )


def require_form(facts: Mapping[str, Any]) -> Any:
    """The saved layout of a training file; None where its format needs none. Raises UserError for damaged facts."""
    try:
        "".encode(str(facts.get("encoding", "utf-8")))
        if str(facts.get("format")) not in GUESSED:
            return None
        _, kind = GUESSED[facts["format"]]
        found: Any = TypeAdapter(kind).validate_json(json.dumps(facts["layout"]), strict=True)
        TypeAdapter(list[str]).validate_python(facts["columns"])
        if not _is_sound(found):
            raise ValueError("no file has it")
        return found
    except (TypeError, ValueError, LookupError) as error:
        raise UserError(
            f"the model's form of its training file is damaged ({first_line(error)})", "Train it again"
        ) from error


def _is_sound(layout: Dialect | WordLines | LabelledLines) -> bool:
    """Whether a saved layout could have been detected."""
    if isinstance(layout, LabelledLines):
        return layout.separator in ENDS_OF_LABELS
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


def _delimited(start: FileStart, known: Trained) -> Dialect | None:
    """The dialect of training for rows below its header, or without one and as wide as in training."""
    like: Dialect = known.layout
    for skip in {like.skip: None, 0: None} if like.header else ():
        rows = _rows(start.text, replace(like, skip=skip))
        names = column_names(["", *rows[0]] if like.indexed else rows[0]) if rows else []
        if rows and set(known.text) <= set(names):
            run_on = like.run_on if len(names) == like.width else None
            found = replace(like, skip=skip, run_on=run_on)
            return found if _are_regular(rows[1:], len(names), found) else None
    return _without_header(start, known)


def _without_header(start: FileStart, known: Trained) -> Dialect | None:
    """The dialect of training for rows as wide as there; without their labels only where it had no header either."""
    like: Dialect = replace(known.layout, header=False, indexed=False, skip=0)
    rows = _rows(start.text, like)
    for names in (known.columns, *(() if known.layout.header else (known.unlabelled,))):
        run_on = like.run_on if names == known.columns else None
        found = replace(like, run_on=run_on, width=len(names), names=names)
        if not rows or not _are_regular(rows, len(names), found) or not set(known.text) <= set(names):
            continue
        labelled = names == known.columns and _has_label(rows[0], known)
        return found if labelled or not (known.layout.header or _are_names(rows[0], known)) else None
    return None


def _rows(text: str, dialect: Dialect) -> list[list[str]]:
    lines = text.splitlines(keepends=True)[dialect.skip :]
    cells = csv_reader(lines, dialect.delimiter, quoted=dialect.quoted, quote=dialect.quote)
    return [row for row, _ in zip((row for row in cells if row), range(ROWS + 1), strict=False)]


def _are_regular(rows: Sequence[Sequence[str]], width: int, dialect: Dialect) -> bool:
    """Whether nearly all rows have so many cells, or more where a text holds the delimiter."""
    fitting = sum(len(row) == width or (dialect.run_on is not None and len(row) > width) for row in rows)
    return fitting >= REGULAR * len(rows)


def _has_label(cells: Sequence[str], known: Trained) -> bool:
    """Whether a row has a label where training rows have it: so that it cannot be a header."""
    place = next((known.columns.index(name) for name in known.label if name in known.columns), len(cells))
    cell = cells[place].strip() if place < len(cells) else ""
    if not known.labels or len(known.label) > 1:  # numbers, or 0 and 1 for each label
        return NUMBER.fullmatch(cell) is not None
    return cell in known.labels or not known.labels.isdisjoint(re.split(r"\s*[,;| ]\s*", cell))


def _are_names(cells: Sequence[str], known: Trained) -> bool:
    """Whether cells are the names of columns: those of training, or usual ones."""
    if {cell.strip() for cell in cells} & {*known.columns, *known.text}:
        return True
    usual = TEXTS if len(cells) == 1 else (*TEXTS, *OTHERS)
    return any((place_of(cell, usual) or (0,))[0] == EXACT for cell in cells if cell.strip())


def _is_above_texts(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of one column is a single word above texts of several words."""
    words = [" ".join(row).split() for row in rows]
    above = len(words) > 2 and len(words[0]) == 1 and re.fullmatch(r"\w+", words[0][0]) is not None
    return above and all(len(row) > 1 for row in words[1:])


def _word_lines(start: FileStart, known: Trained) -> WordLines | None:
    """The columns of training for lines as wide as there, or without the tags."""
    like: WordLines = known.layout
    lines = [line for line in re.split(r"\r\n|\n|\r", start.text)[:3000] if not line.startswith(DOCUMENT)]
    rows = [(line, fields_of(line, like.delimiter, quoted=like.quoted)) for line in lines]
    for names in (like.names, tuple(name for name in like.names if name not in known.label)):
        filled = [row for line, row in rows if not is_blank(line, row) and not is_comment(line, row, len(names))]
        if not filled or not set(known.text) <= {*names}:
            continue
        header = [cell.strip() for cell in filled[0]] == [*names]
        below = filled[header:]
        fitting = [row for row in below if len(row) == len(names) and not any(" " in cell.strip() for cell in row)]
        tagged = names != like.names or _are_tagged(fitting, names, known)
        if below and len(fitting) >= REGULAR * len(below) and tagged:
            return replace(like, names=names, header=header)
    return None


def _are_tagged(rows: Sequence[Sequence[str]], names: Sequence[str], known: Trained) -> bool:
    """Whether most cells of the label's column are tags of training, where it is known."""
    if not known.label or known.label[0] not in names:
        return True
    place = names.index(known.label[0])
    types = {part for label in known.labels for part in (label, label.partition("-")[2])} | {"O"}
    tags = [row[place].strip() for row in rows]
    return sum(bool({tag, tag[2:], tag[:-2]} & types) or len(tag) == 1 for tag in tags) > 0.5 * len(tags)


def _labelled_lines(start: FileStart, known: Trained) -> LabelledLines | Dialect | None:
    """The layout of training for lines with a label; lines without any are texts.

    Raises UserError where only some lines have one.
    """
    like: LabelledLines = known.layout
    cells = [like.cells(line) for line in start.lines[:ROWS]]
    given = [[label] if isinstance(label, str) else label for label, _ in filter(None, cells)]
    share = sum(bool(known.labels.intersection(labels)) for labels in given) / len(cells)
    if share >= REGULAR:
        return like
    if share > MIXED:
        raise UserError(
            f"{start.path}: only {share:.0%} of its lines have a label that the model knows",
            "Give each line a label as in the training file, or none",
        )
    return replace(ONE_COLUMN, names=("text",))


FITS: Mapping[type, Any] = {Dialect: _delimited, WordLines: _word_lines, LabelledLines: _labelled_lines}


def _with_first_row(start: FileStart, found: FileFormat, known: Trained, named: str) -> FileFormat:
    """A file that is read as its content says; its first row is one, unless that names columns."""
    if not isinstance(found.layout, Dialect):
        return found
    first, dialect = delimited.first_cells(start.path, found), found.layout
    if named and all(map(NUMBERED.fullmatch, named.split(","))):
        return replace(found, layout=replace(dialect, header=False))
    if _are_names(first, known) or named:
        return found
    if len(first) == 1 and start.suffix in TABLES and _is_above_texts(_rows(start.text, dialect)):
        return found
    if len(first) == 1:
        skip = dialect.skip if start.suffix in TABLES else 0
        return replace(found, layout=ONE_COLUMN if dialect.delimiter else replace(dialect, header=False, skip=skip))
    if start.suffix not in TABLES and len(known.text) == 1 and dialect.delimiter in (",", ";"):
        return found if IN_PROSE.search(start.text) else replace(found, layout=ONE_COLUMN)
    if start.suffix not in TABLES and len(first) == len(known.text):
        return replace(found, layout=replace(dialect, header=False, names=known.text, run_on=None))
    if all(map(NUMBERED.fullmatch, known.text)):
        raise UserError(
            f"{start.path}: has {len(first)} columns and no header, unlike the training file, whose text was"
            f" {', '.join(known.text)}",
            "Name the column of the text: text='column 1'",
        )
    return replace(found, layout=replace(dialect, header=False)) if len(_rows(start.text, dialect)) == 1 else found
