"""Sentences of files with one word per line: CoNLL columns, GermEval, KLUE, CSV tables of words.

Sentences end at an empty line, or where the value of a column changes that numbers them (`Sentence #`).
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from finetune.data.messages import so_many

DOCUMENT = "-DOCSTART-"
SPACES = " "
CONLL_U = 10  # columns, of which the first numbers the words
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


@dataclass(frozen=True, kw_only=True)
class SentenceCells:
    """The cells of a sentence by column, from `line` on; `fault` says what is wrong in `fault_line`.

    `document` counts from 1.
    """

    line: int
    columns: dict[str, list[str]]
    document: int = 0
    fault: str = ""
    fault_line: int = 0


def sentences(lines: Iterable[tuple[int, str]], form: WordLines) -> Iterator[SentenceCells]:
    """Yields the sentences of numbered lines. A line with another number of columns makes its sentence a fault."""
    reader = _Reader(form)
    for number, line in lines:
        yield from reader.take(number, line.rstrip("\r\n"))
    yield from reader.end()


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
    """Whether a line before a sentence is a comment: it begins with # and is not a word with its tags."""
    if not line.startswith("#"):
        return False
    return len(fields) != columns or "://" in line or any(" " in cell.strip() for cell in fields)


class _Reader:
    """Collects the lines of a sentence."""

    def __init__(self, form: WordLines) -> None:
        self.form = form
        self.document = 0
        self.header = form.header
        self.clear()

    def clear(self) -> None:
        self.rows: list[list[str]] = []
        self.line = self.fault_line = 0
        self.fault = self.number = ""

    def take(self, number: int, line: str) -> Iterator[SentenceCells]:
        fields = fields_of(line, self.form.delimiter, quoted=self.form.quoted)
        if is_blank(line, fields):
            yield from self.end()
            return
        if line.split(None, 1)[:1] == [DOCUMENT]:
            yield from self.end()
            self.document += 1
            return
        if self.header:
            self.header = False
            return
        if not self.rows and not self.fault and is_comment(line, fields, len(self.form.names)):
            return
        if self._begins(fields):
            yield from self.end()
        if len(fields) == len(self.form.names) == CONLL_U and JOINED.fullmatch(fields[0]):
            self.line = self.line or number
            return
        self._add(number, fields)

    def _begins(self, fields: Sequence[str]) -> bool:
        """Whether the column that numbers the sentences has a new number here."""
        if not self.form.sentence:
            return False
        place = self.form.names.index(self.form.sentence)
        value = fields[place].strip() if place < len(fields) else ""
        if not value or value == self.number:
            return False
        old, self.number = self.number, value
        return bool(old)

    def _add(self, number: int, fields: list[str]) -> None:
        self.line = self.line or number
        if len(fields) != len(self.form.names) and not self.fault:
            wanted = so_many(len(self.form.names), "column")
            self.fault = f"expected {wanted}, as in the first line, found {len(fields)}"
            self.fault_line = number
        elif not fields[0] and not self.form.characters and self.form.names[0] == "words" and not self.fault:
            self.fault, self.fault_line = "the word is missing", number
        self.rows.append(fields)

    def end(self) -> Iterator[SentenceCells]:
        """Ends the sentence, and yields it if there is one."""
        if self.rows:
            whole = not self.fault
            columns = {n: [row[i] for row in self.rows] for i, n in enumerate(self.form.names)} if whole else {}
            yield SentenceCells(
                line=self.line,
                columns=columns,
                document=self.document,
                fault=self.fault,
                fault_line=self.fault_line,
            )
        number = self.number
        self.clear()
        self.number = number


def is_blank(line: str, fields: Sequence[str]) -> bool:
    """Whether a line is empty: a blank with a tag after it is a word."""
    return not line.strip() or not any(cell.strip() for cell in fields)
