"""Column files of words and tags: CoNLL-2003's four columns, WNUT's two, and any other in any scheme."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from finetune.data.source import numbered_lines
from finetune.errors import UserError
from finetune.metrics.entities import to_iob2

DOCUMENT = "-DOCSTART-"
TABS, SPACES = re.compile("\t"), re.compile(" +")
TAG = re.compile(r"O|[BIESLU]-.+")


@dataclass(kw_only=True)
class Sentence:
    """Words with their tags, and the number of the document that they are in, from 1 (0: none was marked).

    It begins in `line`; `fault` says what is wrong with it in line `fault_line`, if anything.
    """

    document: int
    line: int = 0
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    fault: str = ""
    fault_line: int = 0


def read_columns(path: Path, *, types: Collection[str]) -> Iterator[Sentence]:
    """The sentences of a file, their tags in IOB2. Raises UserError with file and line for a fault in one, bytes that
    are not UTF-8, and a tag that is none of the schemes' or of another type than `types`.
    """
    for sentence in sentences(numbered_lines(path)):
        for number, tag in enumerate(sentence.tags, start=sentence.line):
            _check(tag, types, where=f"{path}:{number}")
        if sentence.fault:
            raise UserError(
                f"{path}:{sentence.fault_line}: {sentence.fault}",
                "A line is a word, its columns and a tag, parted by tabs or spaces; mend that line",
            )
        sentence.tags = to_iob2(sentence.tags)
        yield sentence


def sentences(lines: Iterable[tuple[int, str]]) -> Iterator[Sentence]:
    """What stands between empty lines: the word in the first column, the tag in the last, as they are in the file.

    Columns are parted by tabs where the first line has one, else by spaces. A line with another number of columns
    than the first one is a fault.
    """
    sentence = Sentence(document=0)
    columns, separator = 0, SPACES
    for number, line in lines:
        begins = line.split(None, 1)[:1]
        if not begins or begins == [DOCUMENT]:
            if sentence.line:
                yield sentence
            sentence = Sentence(document=sentence.document + len(begins))
            continue
        if not columns:
            separator = TABS if "\t" in line else SPACES
            columns = len(separator.split(line.rstrip(" ")))
        fields = separator.split(line.rstrip(" "))
        sentence.line = sentence.line or number
        if fault := _fault(fields, columns):
            sentence.fault, sentence.fault_line = sentence.fault or fault, sentence.fault_line or number
        if not sentence.fault:
            sentence.words.append(fields[0])
            sentence.tags.append(fields[-1])
    if sentence.line:
        yield sentence


def _fault(fields: list[str], columns: int) -> str:
    if not fields[0]:
        return "the word is missing"
    if len(fields) != columns or columns < 2:
        return f"{len(fields)} columns where the first line has {columns}"
    return ""


def _check(tag: str, types: Collection[str], *, where: str) -> None:
    if not TAG.fullmatch(tag):
        raise UserError(f"{where}: '{tag}' is no tag", "Tags are O, or B, I, E, S, L or U, a hyphen and a type")
    if tag != "O" and tag[2:] not in types:
        raise UserError(f"{where}: '{tag}' has a type that is none of {', '.join(types)}", "Mend that line")
