"""How a file is read for a trained model: as the training file where that fits, else as its content says.

Delimiter, quoting and header of a few rows can only be guessed, and a guess may take the first row for a header.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from finetune.data.detect import FORMATS, detect
from finetune.data.encodings.unicode import decodes, marked
from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.formats import conll, delimited, labelled_lines
from finetune.data.formats.dialect import DELIMITERS, Dialect
from finetune.data.formats.excel import Sheet, named_sheet, sheets_of
from finetune.data.formats.labelled_lines import ENDS, FASTTEXT, LabelledLines
from finetune.data.formats.word_lines import DOCUMENT, SPACES, WordLines, fields_of, is_blank, is_comment
from finetune.data.open_files import open_bytes
from finetune.data.paired_files import ONE_COLUMN
from finetune.data.paths import is_file
from finetune.data.table import Table
from finetune.errors import UserError, first_line
from finetune.task_types.columns import Layout
from finetune.task_types.pretraining.own import Text, reading_of
from finetune.task_types.trained_dialect import (
    REGULAR,
    ROWS,
    TrainedColumns,
    are_names,
    dialect_for,
    is_above_texts,
    is_plain_text,
    rows_at,
)

GUESSED: dict[str, tuple[Format, type]] = {
    "delimited": (delimited.FORMAT, Dialect),
    "word-lines": (conll.FORMAT, WordLines),
    "labelled-lines": (labelled_lines.FORMAT, LabelledLines),
}
MIXED_SHARE = 0.2  # share of lines with a label, from which some lines have one
ENDS_OF_LABELS = (FASTTEXT, " ", *ENDS)  # what separates a label from its text
NUMBERED = re.compile(r"column \d+")
TABLES = (".csv", ".tsv", ".tab")
IN_PROSE = re.compile(r"[,;](?![\s\d]|$)", re.MULTILINE)  # a sign between cells, which prose does not have


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
        return reading_of(path, options)
    facts = trained.file if trained is not None else {}
    layout = require_form(facts)
    start = FileStart(path, str(options.get("encoding", "")) or _encoding(path, str(facts.get("encoding", ""))))
    sheet = str(options.get("sheet", "") or facts.get("sheet", ""))
    if sheet and (options.get("sheet") or sheet in sheets_of(path)):
        return named_sheet(path, sheet)
    if not is_file(path) or any(one.sniff(start) for one in FORMATS if one.name not in GUESSED):
        return detect(path, start.given)
    known = _known(trained, facts, options, inputs)
    moved = trained is not None and known.text != trained.text and all(map(NUMBERED.fullmatch, known.text))
    known = replace(known, layout=None if moved else layout)  # columns by number are in other places than in training
    return _text_form(start, known, str(options.get("text", "")))


def _text_form(start: FileStart, known: TrainedColumns, named: str) -> FileFormat:
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
        newline=start.newline,
        layout=found,
    )


def _known(
    trained: Layout | None, facts: Mapping[str, Any], options: Mapping[str, Any], inputs: Sequence[str]
) -> TrainedColumns:
    named = tuple(name for name in str(options.get("text", "")).split(",") if name)
    if trained is None:
        return TrainedColumns(columns=tuple(inputs), text=named or tuple(inputs))
    return TrainedColumns(
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


def _word_lines(start: FileStart, known: TrainedColumns) -> WordLines | None:
    """The columns of training for lines as wide as there, or without the tags."""
    like: WordLines = known.layout
    if like.delimiter == SPACES and all("\t" in line for line in start.lines[:ROWS]):
        like = replace(like, delimiter="\t")
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
            table = names != like.names and _is_table(start.lines, like.delimiter)
            return None if table else replace(like, names=names, header=header)
    return None


def _is_table(lines: Sequence[str], delimiter: str) -> bool:
    """Whether nearly all lines hold one of the other delimiters."""
    return any(sum(sign in line for line in lines) > 0.9 * len(lines) for sign in DELIMITERS if sign != delimiter)


def _are_tagged(rows: Sequence[Sequence[str]], names: Sequence[str], known: TrainedColumns) -> bool:
    """Whether most cells of the label's column are tags of training, where it is known."""
    if not known.label or known.label[0] not in names:
        return True
    place = names.index(known.label[0])
    types = {part for label in known.labels for part in (label, label.partition("-")[2])} | {"O"}
    tags = [row[place].strip() for row in rows]
    return sum(bool({tag, tag[2:], tag[:-2]} & types) or len(tag) == 1 for tag in tags) > 0.5 * len(tags)


def _labelled_lines(start: FileStart, known: TrainedColumns) -> LabelledLines | Dialect | None:
    """The layout of training for lines with a label; lines without any are texts, unless the suffix is of a table.

    Raises UserError where only some lines have one.
    """
    like: LabelledLines = known.layout
    cells = [like.cells(line) for line in start.lines[:ROWS]]
    given = [[label] if isinstance(label, str) else label or [] for label, _ in filter(None, cells)]
    marked = like.separator == FASTTEXT
    known_ones = [labels for labels in given if labels and (marked or known.labels.intersection(labels))]
    share = len(known_ones) / len(cells)
    if share >= REGULAR or (marked and known_ones):
        return like
    if share > MIXED_SHARE:
        raise UserError(
            f"{start.path}: only {share:.0%} of its lines have a label that the model knows",
            "Give each line a label as in the training file, or none",
        )
    return replace(ONE_COLUMN, names=("text",)) if is_plain_text(start) else None


FITS: Mapping[type, Any] = {Dialect: dialect_for, WordLines: _word_lines, LabelledLines: _labelled_lines}


def _with_first_row(start: FileStart, found: FileFormat, known: TrainedColumns, named: str) -> FileFormat:
    """A file that is read as its content says; its first row is one, unless that names columns."""
    if not isinstance(found.layout, Dialect):
        return found
    first, dialect = delimited.first_cells(start.path, found), found.layout
    if named and all(map(NUMBERED.fullmatch, named.split(","))):
        return replace(found, layout=replace(dialect, header=False))
    if are_names(first, known) or named:
        return found
    if len(first) == 1 and start.suffix in TABLES and is_above_texts(rows_at(start.text, dialect)):
        return found
    if len(first) == 1:
        skip = dialect.skip if start.suffix in TABLES else 0
        return replace(found, layout=ONE_COLUMN if dialect.delimiter else replace(dialect, header=False, skip=skip))
    if start.suffix not in TABLES and len(known.text) == 1 and dialect.delimiter in (",", ";"):
        return found if IN_PROSE.search(start.text) else replace(found, layout=ONE_COLUMN)
    if start.suffix not in TABLES and len(first) == len(known.text):
        return replace(found, layout=replace(dialect, header=False, names=known.text, run_on=None))
    if known.text and all(map(NUMBERED.fullmatch, known.text)):
        raise UserError(
            f"{start.path}: has {len(first)} columns and no header, unlike the training file, whose text was"
            f" {', '.join(known.text)}",
            f"Name the column of the text by its number, from 1 to {len(first)}: text='column NUMBER'",
        )
    bare = len(rows_at(start.text, dialect)) == 1 or not known.labels.isdisjoint(map(str.strip, first))
    return replace(found, layout=replace(dialect, header=False)) if bare else found
