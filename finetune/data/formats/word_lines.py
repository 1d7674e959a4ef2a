"""Sentences of files with one word per line (CoNLL columns, GermEval, KLUE, CSV tables of words), and how tags are
written there: `B-PER`, `PER_B`, `PER`, `B`, or `B-PER` and `I`.

Sentences end at an empty line, or where the value of a column changes that numbers them (`Sentence #`).
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

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
FormOfTags = Literal["prefix", "suffix", "begun", "bare", "untyped", "plain"]
PREFIX = re.compile(r"([BIESLUMW])[-_](\S.*)", re.IGNORECASE)
SUFFIX = re.compile(r"(\S.*)[-_]([BIESLUMW])", re.IGNORECASE)
FORMS: dict[FormOfTags, re.Pattern[str]] = {"prefix": PREFIX, "suffix": SUFFIX}
OUTSIDE = ("O", "o", "OTHER", "Other", "other", "OUT")
SIGNS = ("-", "_", "0")  # also mark a word in no entity, where the other tags have a B or I
CHUNKS = frozenset({"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP"})
UNTYPED = "entity"  # the type of tags that name none
MOST_TYPES = 60
MOST_DIFFERENT = 0.3  # share of the words
MOST_OF_TAGS = 0.98
LETTERS = "BIESLUMW"
INNER = "IMEL"  # letters of words that continue an entity
SAME = {"M": "I", "W": "S"}  # letters of other schemes


@dataclass(frozen=True, kw_only=True)
class TagForm:
    """How a column writes its tags: `outside` marks a word in no entity."""

    form: FormOfTags = "prefix"
    outside: str = "O"

    def standard(self, tag: str) -> str:
        """A tag as `O` or `B-PER`; one of another form is returned unchanged."""
        if self.form == "plain":
            return tag
        if tag == self.outside:
            return "O"
        if self.form == "untyped" and _is_of(tag, LETTERS):
            tag = f"{tag}-{UNTYPED}"
        elif self.form == "suffix" and (match := SUFFIX.fullmatch(tag)):
            tag = f"{match[2]}-{match[1]}"
        if match := PREFIX.fullmatch(tag):
            return f"{_letter(match[1])}-{match[2]}"
        return f"I-{tag}" if self.form == "bare" else tag

    def standards(self, tags: Iterable[str]) -> Iterator[str]:
        """The tags of a sentence as `O` or `B-PER`: in the form `begun` an `I` has the type of the tag before it."""
        kind = ""
        for tag in map(self.standard, tags):
            alone = self.form == "begun" and kind and _is_of(tag, INNER)
            yield (full := f"{_letter(tag)}-{kind}" if alone else tag)
            kind = full[2:]


def _is_of(tag: str, letters: str) -> bool:
    return len(tag) == 1 and tag.upper() in letters


def _letter(letter: str) -> str:
    return SAME.get(letter.upper(), letter.upper())


def form_of(tags: Counter[str]) -> TagForm | None:
    """The form of a column's tags; None where they are not tags of entities."""
    if set(tags) == {"O"}:
        return TagForm()  # of words in no entity
    for outside in (*OUTSIDE, *SIGNS):
        rest = Counter({tag: count for tag, count in tags.items() if tag != outside})
        if not tags[outside] or not rest:
            continue
        if all(_is_of(tag, "BIESLUM") for tag in rest) and "B" in map(str.upper, rest):
            return TagForm(form="untyped", outside=outside)
        begins = [PREFIX.fullmatch(tag) for tag in rest if not _is_of(tag, INNER)]
        if len(begins) < len(rest) and all(match and not _is_of(match[1], INNER) for match in begins):
            return TagForm(form="begun", outside=outside)
        for form, pattern in FORMS.items():
            if sum(rest[tag] for tag in rest if pattern.fullmatch(tag)) >= MOST_OF_TAGS * rest.total():
                return TagForm(form=form, outside=outside)
        if outside in OUTSIDE and tags[outside] > 0.5 * tags.total() and _are_types(rest):
            return TagForm(form="bare", outside=outside)
    typed = [tag for tag in tags if PREFIX.fullmatch(tag)]
    if tags["O"] and typed and sum(tags[tag] for tag in ("O", *typed)) >= 0.9 * tags.total():
        return TagForm()  # some tags are faulty
    return None


def plain_form(tags: Counter[str]) -> TagForm | None:
    """The form of tags that are none of entities, such as parts of speech; None where they are nearly all different."""
    if len(tags) < 2 or len(tags) > MOST_DIFFERENT * tags.total():
        return None
    if tags.most_common(1)[0][0] == "O":
        return TagForm(form="bare")
    return TagForm(form="plain")


def are_chunks(tags: Iterable[str]) -> bool:
    """Whether tags mark phrases (B-NP, I-VP) rather than entities."""
    types = {match[2] for tag in tags if (match := PREFIX.fullmatch(tag))}
    return "NP" in types and types <= CHUNKS


def _are_types(tags: Counter[str]) -> bool:
    """Whether tags are the names of a few types, each repeated."""
    names = all(re.fullmatch(r"[^\W\d_][\w.-]*", tag) for tag in tags)
    return names and len(tags) <= min(MOST_TYPES, max(2, tags.total() // 2))


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
        """Whether a line is a blank word, such as a tab, with a tag outside of entities."""
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
        sentence_number = "" if between else form.number_in(fields)
        if rows and (between or (sentence_number and number and sentence_number != number)):
            row += 1
            if fault:
                yield Record(row=row, line=faulty, fault=Finding(UNREADABLE, fault))
            else:
                values = {name: [cells[place] for cells in rows] for place, name in enumerate(form.names)}
                place = {"document": str(document)} if document else {}
                yield Record(row=row, line=first, values=values | place, change=change)
            rows, first, fault, change = [], 0, "", ""
        number = sentence_number or number
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
    words = word_list(kind)
    return next((place for place, name in enumerate(names) if name.lower() in words), 0 if kind == "words" else -1)


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
