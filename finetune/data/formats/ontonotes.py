"""CoNLL-2012 (OntoNotes): words in columns, and names of entities in brackets that may span lines, as IOB2 tags."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.issues import UNREADABLE, Finding
from finetune.data.records import Record
from finetune.metrics.entities import chunks

BEGIN = "#begin document"
FEWEST_COLUMNS = 12
WORD, TAG, ENTITY = 3, 4, 10  # their places


def sniff(start: FileStart) -> bool:
    """Whether the first line begins a document of CoNLL-2012, and the next has its columns."""
    lines = start.lines[:2]
    return len(lines) == 2 and lines[0].startswith(BEGIN) and len(lines[1].split()) >= FEWEST_COLUMNS


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each sentence: words, parts of speech, tags of entities, and the document's number."""
    with form.open_text(path) as file:
        document = row = begin = 0
        waiting: list[list[str]] = []
        for number, line in enumerate([*file, ""], start=1):
            fields = [] if line.startswith("#") else line.split()
            if fields:
                begin = begin if waiting else number
                waiting.append(fields)
            elif waiting:
                row += 1
                yield _sentence(waiting, document, row=row, line=begin)
                waiting = []
            document += line.startswith(BEGIN)


def with_entities(lines: Iterable[str], columns: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields lines as they are, those of words with a further column of brackets: IOB2 tags of sentences."""
    tags, waiting = iter(columns), list[str]()
    for line in chain(lines, [""]):
        if line.split() and not line.startswith("#"):
            waiting.append(line)
            continue
        if waiting:
            yield from map(_with_cell, waiting, _brackets(next(tags), len(waiting)))
            waiting.clear()
        yield line


def _with_cell(line: str, cell: str) -> str:
    bare = line.rstrip("\r\n")
    return f"{bare.rstrip()}   {cell}{line[len(bare) :]}"


def _brackets(tags: Sequence[str], length: int) -> list[str]:
    """IOB2 tags of so many words in brackets; a sentence without a prediction has no entity."""
    found = ["*"] * length
    for kind, begin, end in chunks(tags) if len(tags) == length else ():
        found[begin] = f"({kind}" + found[begin]
        found[end - 1] = found[end - 1].removesuffix("*") + ("*)" if end - begin > 1 else ")")
    return found


def _sentence(rows: Sequence[Sequence[str]], document: int, *, row: int, line: int) -> Record:
    if any(len(fields) < FEWEST_COLUMNS for fields in rows):
        return Record(
            row=row, line=line, fault=Finding(UNREADABLE, f"has a line of fewer than {FEWEST_COLUMNS} columns")
        )
    values = {
        "words": [fields[WORD] for fields in rows],
        "parts of speech": [fields[TAG] for fields in rows],
        "tags": list(_tags(fields[ENTITY] for fields in rows)),
        "document": str(document),
    }
    return Record(row=row, line=line, values=values)


def _tags(cells: Iterator[str]) -> Iterator[str]:
    """`(PERSON*`, `*)` as B-PERSON, I-PERSON; `*` within an entity is in it, else in none."""
    inside = ""
    for cell in cells:
        if cell.startswith("("):
            inside = cell.strip("()*")
            yield f"B-{inside}"
        else:
            yield f"I-{inside}" if inside else "O"
        inside = "" if cell.endswith(")") else inside


FORMAT = Format(name="ontonotes", title="CoNLL-2012", names_columns=False, sniff=sniff, read=read)
