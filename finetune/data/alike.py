"""Writes predictions in the layout of the file that was predicted: its lines or objects as they are, with additions.

A file of words gets a column of tags, a labelled line a tab and its prediction, an object of JSON further fields.
"""

import codecs
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import tee
from pathlib import Path
from typing import IO, Any

from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.formats import delimited, json_document, ontonotes
from finetune.data.formats.squad_json import is_squad, questions
from finetune.data.formats.word_lines import with_column
from finetune.data.open_files import PACKED, utf_8
from finetune.data.values import tags_of
from finetune.data.written_cells import as_json, flat_cell

Write = Callable[[Path, FileFormat, IO[bytes], Iterable[FileRow], OutputFormat], int]
LINES = (".jsonl", ".ndjson")


def plain_suffix(path: Path) -> str:
    """A file's suffix without `.gz` or `.xz`, in lower case."""
    name = next((path.name.removesuffix(packed) for packed in PACKED if path.name.endswith(packed)), path.name)
    return Path(name).suffix.lower()


def alike(output: Path, like: FileFormat | None, known: Iterable[str]) -> Format | None:
    """The format that gives an output the layout of the file it is like; None where its suffix means another.

    `known` are the suffixes of the formats that are written.
    """
    if like is None or like.path is None or like.format.name not in WRITERS:
        return None
    suffix, own, name = plain_suffix(output), plain_suffix(like.path), like.format.name
    same = suffix == own or (name == "word-lines" and suffix == ".conll") or {suffix, own} <= {*LINES}
    if not same or (name == "delimited" and suffix in known):
        return None
    return replace(like.format, write=partial(WRITERS[name], like.path, like), fits=None, markable=False)


def _text(file: IO[bytes], like: FileFormat) -> AbstractContextManager[IO[str]]:
    file.write(codecs.BOM_UTF8 if like.marked else b"")
    return utf_8(file)


def _words(source: Path, like: FileFormat, file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """Every line as it is, a word's with its tag; `O` where a sentence has no prediction.

    Of a prediction with parts, such as tags and an intent, each is a column, that of the tags first.
    """
    name, form = next(iter(output.added), ""), like.layout
    seen, cells = tee(row.get(name) for row in rows)
    first = next((cell for cell in seen if cell is not None), None)
    del seen  # which would keep every cell
    parts = sorted(first, key=lambda part: not isinstance(first[part], list)) if isinstance(first, Mapping) else [""]
    with like.open_text(source) as opened, _text(file, like) as text:
        lines: Iterable[str] = opened
        for part, some in zip(parts, tee(cells, len(parts)), strict=True):
            column = f"{name} {part}".strip()
            lines = with_column(enumerate(lines, start=1), form, column, map(partial(_of_words, part), some))
            form = replace(form, names=(*form.names, column))
        text.writelines(lines)
    return 0


def _of_words(part: str, cell: Any) -> Sequence[str]:
    """What each word of a sentence has of its prediction, or of a part of it; a text is of all words."""
    found = cell.get(part) if isinstance(cell, Mapping) else cell
    return found if part and isinstance(found, str) else tags_of(found)


def _bracketed(source: Path, like: FileFormat, file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """Every line of CoNLL-2012 as it is, a word's with its entity in brackets."""
    name = next(iter(output.added), "")
    with like.open_text(source) as lines, _text(file, like) as text:
        text.writelines(ontonotes.with_entities(lines, (tags_of(row.get(name)) for row in rows)))
    return 0


def _labelled(source: Path, like: FileFormat, file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """Every line as it is, a tab and the prediction."""
    name, given = next(iter(output.added), ""), iter(rows)
    with like.open_text(source) as lines, _text(file, like) as text:
        for line in lines:
            bare = line.rstrip("\r\n")
            end = line[len(bare) :]
            text.write(f"{bare}\t{flat_cell(next(given).get(name))}{end}" if line.strip() else line)
    return 0


def _table(_: Path, like: FileFormat, file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """Cells between the delimiters of the file; between tabs where it has none."""
    write = delimited.FORMAT.write
    assert write is not None
    marked = replace(output, delimiter=delimited.dialect_of(like).delimiter or "\t", marked=like.marked)
    return write(file, rows, marked)


def _objects(source: Path, like: FileFormat, file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """The object of each line as it is, with the cells of its prediction; a line that is none has only these."""
    filled = (text for _, _, text in like.filled_lines(source))
    with utf_8(file) as text:
        for line, row in zip(filled, rows, strict=True):
            try:
                given = json.loads(line)
            except (ValueError, RecursionError):
                given = {}
            found = _extended(given if isinstance(given, dict) else {}, row, output)
            text.write(as_json(found, list(found)) + "\n")
    return 0


def _document(source: Path, like: FileFormat, file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """The document as it is, with the cells of the predictions in the objects of its rows."""
    content = json_document.load_json(source, like)
    objects = _objects_in(content)
    if objects is None:
        write = json_document.FORMAT.write
        assert write is not None
        return write(file, rows, output)
    for given, row in zip(objects, rows, strict=True):
        if given is not None:
            given.update(_extended(given, row, output))
    with utf_8(file) as text:
        json.dump(content, text, ensure_ascii=False, indent=1)
        text.write("\n")
    return 0


def _objects_in(content: Any) -> list[dict[str, Any] | None] | None:
    """The row objects of a document, None in the place of a faulty row; None for a document without rows."""
    rows = json_document.rows_within(content)
    if not isinstance(rows, list):
        return None
    if is_squad(rows):
        return [None if one.fault else one.given for one in questions(rows)]
    return [row if isinstance(row, dict) else None for row in rows] if any(isinstance(r, dict) for r in rows) else None


def _extended(given: Mapping[str, Any], row: FileRow, output: OutputFormat) -> dict[str, Any]:
    """An object with the cells of its prediction, under names that it does not have."""
    found = dict(given)
    for name in output.added:
        if name in row:
            free = name
            while free in given:
                free = f"predicted {free}"
            found[free] = row[name]
    return found


WRITERS: Mapping[str, Write] = {
    "word-lines": _words,
    "ontonotes": _bracketed,
    "labelled-lines": _labelled,
    "delimited": _table,
    "json-lines": _objects,
    "json": _document,
}
