"""Column files of words and tags: CoNLL-2003's four columns, WNUT's two, and any other in any scheme."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from finetune.chunks import to_iob2
from finetune.errors import UserError
from finetune.source import numbered_lines

DOCUMENT = "-DOCSTART-"
TABS, SPACES = re.compile("\t"), re.compile(" +")
TAG = re.compile(r"O|[BIESLU]-.+")


@dataclass(kw_only=True)
class Sentence:
    """Words with their tags in IOB2, and the number of the document that they are in, from 1 (0: none was marked)."""

    document: int
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


def read_columns(path: Path, *, types: Collection[str]) -> Iterator[Sentence]:
    """The sentences of a file with the word in its first column and the tag in its last; empty lines part sentences.

    Columns are parted by tabs where the first line has one, else by spaces. Raises UserError with file and line for
    another number of columns than the first line's, bytes that are not UTF-8, and a tag that is none of the
    schemes' or of another type than `types`.
    """
    sentence = Sentence(document=0)
    columns, separator = 0, SPACES
    for number, line in numbered_lines(path):
        if not line.strip():
            yield from _ended(sentence)
            sentence = Sentence(document=sentence.document)
            continue
        if line.split()[0] == DOCUMENT:
            yield from _ended(sentence)
            sentence = Sentence(document=sentence.document + 1)
            continue
        if not columns:
            separator = TABS if "\t" in line else SPACES
            columns = len(separator.split(line.rstrip(" ")))
        fields = separator.split(line.rstrip(" "))
        if not fields[0]:
            raise UserError(f"{path}:{number}: the word is missing", "Mend or remove that line")
        if len(fields) != columns or columns < 2:
            raise UserError(
                f"{path}:{number}: {len(fields)} columns where the first line has {columns}",
                "A line is a word, its columns and a tag, parted by tabs or spaces; mend that line",
            )
        sentence.words.append(fields[0])
        sentence.tags.append(_checked(fields[-1], types, where=f"{path}:{number}"))
    yield from _ended(sentence)


def _ended(sentence: Sentence) -> Iterator[Sentence]:
    if sentence.words:
        sentence.tags = to_iob2(sentence.tags)
        yield sentence


def _checked(tag: str, types: Collection[str], *, where: str) -> str:
    if not TAG.fullmatch(tag):
        raise UserError(f"{where}: '{tag}' is no tag", "Tags are O, or B, I, E, S, L or U, a hyphen and a type")
    if tag != "O" and tag[2:] not in types:
        raise UserError(f"{where}: '{tag}' has a type that is none of {', '.join(types)}", "Mend that line")
    return tag
