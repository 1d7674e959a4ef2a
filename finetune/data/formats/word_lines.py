"""Sentences of files with one word per line: CoNLL columns, GermEval, KLUE, CSV tables of words.

Sentences end at an empty line, or where the value of a column changes that numbers them (`Sentence #`).
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from finetune.data.issues import UNREADABLE, Finding
from finetune.data.messages import so_many
from finetune.data.records import Record
from finetune.data.words.lists import word_list

DOCUMENT = "-DOCSTART-"
SPACES = " "
CONLL_U = 10  # columns, of which the first numbers the words
COMMENTS = ("#", ";", "$", "%", "//")
BLANKS = "blank tokens with the tag O: left out"
JOINED = re.compile(r"\d+[-.]\d+")  # several words as they are written, as in `4-5 im`, or a word that is not (5.1)


@dataclass(frozen=True, kw_only=True)
class WordLines:
    """The layout of such a file: `names` are its columns, `sentence` the one that numbers sentences."""

    delimiter: str
    names: tuple[str, ...]
    header: bool = False
    quoted: bool = False
    sentence: str = ""
    characters: bool = False  # in place of words, so that a word may be a blank

    def __str__(self) -> str:
        return f"columns {', '.join(self.names)}" + ("" if self.header else " (no header)")

    def number_in(self, fields: Sequence[str]) -> str:
        """The number of the sentence in a line's cells; empty where the file or the line has none."""
        place = self.names.index(self.sentence) if self.sentence else len(fields)
        return fields[place].strip() if place < len(fields) else ""

    def is_blank_word(self, line: str, fields: Sequence[str]) -> bool:
        """Whether a line is a blank, such as a tab, and its columns, one of which says that it is in no entity."""
        if self.characters or "O" not in fields or len(self.names) < 2:
            return False
        word, tag = (_place_of(self.names, name) for name in ("words", "tags"))
        if self.delimiter == SPACES and word == 0 and line[:1].isspace():
            fields = ["", *fields]
        return len(fields) == len(self.names) and not fields[word].strip() and fields[tag] == "O"

    def fault_in(self, fields: Sequence[str]) -> str:
        """Why a line's cells are not a word with its columns; empty where they are."""
        if len(fields) != len(self.names):
            return f"expected {so_many(len(self.names), 'column')}, as in the first line, found {len(fields)}"
        return "the word is missing" if not (fields[0] or self.characters or self.names[0] != "words") else ""


def sentences(lines: Iterable[tuple[int, str]], form: WordLines, *, blanks: bool = True) -> Iterator[Record]:
    """Yields a record for each sentence of numbered lines, with a list for each column, and its document from 1 on.

    A line with another number of columns makes its sentence a fault, and without `blanks` one whose word is blank too.
    """
    rows: list[list[str]] = []
    row = first = document = 0
    fault, faulty, number, header, change = "", 0, "", form.header, ""
    for line, text in chain(lines, [(0, "")]):
        fields = fields_of(text.rstrip("\r\n"), form.delimiter, quoted=form.quoted)
        mark = text.split(None, 1)[:1] == [DOCUMENT]
        between = mark or is_blank(text, fields)
        if not between and (header or (not rows and is_comment(text, fields, len(form.names)))):
            header = False
            continue
        given = "" if between else form.number_in(fields)
        if rows and (between or (given and number and given != number)):
            row += 1
            if fault:
                yield Record(row=row, line=faulty, fault=Finding(UNREADABLE, fault))
            else:
                values = {name: [cells[place] for cells in rows] for place, name in enumerate(form.names)}
                place = {"document": str(document)} if document else {}
                yield Record(row=row, line=first, values=values | place, change=change)
            rows, first, fault, change = [], 0, "", ""
        number = given or number
        document += mark
        if between:
            first = 0
            continue
        first = first or line
        if blanks and form.is_blank_word(text, fields):
            change = BLANKS
            continue
        if len(fields) == len(form.names) == CONLL_U and JOINED.fullmatch(fields[0]):
            continue
        if not fault and (fault := form.fault_in(fields)):
            faulty = line
        rows.append(fields)


def _place_of(names: Sequence[str], kind: str) -> int:
    """The place of the column of words or tags by its name, else the first or the last."""
    known = word_list(kind)
    return next((place for place, name in enumerate(names) if name.lower() in known), 0 if kind == "words" else -1)


def fields_of(line: str, delimiter: str, *, quoted: bool) -> list[str]:
    """The cells of one line. Quotes that enclose a whole cell are removed where the file is `quoted`."""
    if delimiter == SPACES:
        return line.split()
    if delimiter == "\t" and not quoted:
        return line.split("\t")
    try:
        return next(
            csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE), []
        )
    except csv.Error:
        return line.split(delimiter)


def is_comment(line: str, fields: Sequence[str], columns: int) -> bool:
    """Whether a line before a sentence is a comment: it begins with # or the like and is not a word with its tags."""
    if not line.startswith(COMMENTS) or (line[0] != "#" and len(line.strip()) == 1):
        return False
    return len(fields) != columns or "://" in line or any(" " in cell.strip() for cell in fields)


def is_blank(line: str, fields: Sequence[str]) -> bool:
    """Whether a line is empty: a blank with a tag after it is a word."""
    return not line.strip() or not any(cell.strip() for cell in fields)
