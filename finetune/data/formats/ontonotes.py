"""CoNLL-2012 (OntoNotes): words in columns, and names of entities in brackets that may span lines, as IOB2 tags."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.issues import UNREADABLE, Fault
from finetune.data.records import Record

BEGIN = "#begin document"
FEWEST = 12  # columns
WORD, TAG, ENTITY = 3, 4, 10  # their places


def sniff(start: FileStart) -> bool:
    """Whether the first line begins a document of CoNLL-2012, and the next has its columns."""
    lines = start.lines[:2]
    return len(lines) == 2 and lines[0].startswith(BEGIN) and len(lines[1].split()) >= FEWEST


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


def _sentence(rows: Sequence[Sequence[str]], document: int, *, row: int, line: int) -> Record:
    if any(len(fields) < FEWEST for fields in rows):
        return Record(row=row, line=line, fault=Fault(f"has a line of fewer than {FEWEST} columns", UNREADABLE))
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
