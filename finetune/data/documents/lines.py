"""Lines of a file of text, and the documents that they make."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from finetune.data.documents.corpus_file import CorpusFile
from finetune.data.encodings.detect import spelled
from finetune.data.open_files import open_text
from finetune.errors import UserError

LONGEST_LINE = 1 << 23  # characters
LONGEST_DOCUMENT = 1 << 26  # characters
LINE_END = re.compile(r"\r\n|\r|\n")
BAD = "\udcff"  # in the place of bytes that are not valid in the encoding


def paragraphs(file: CorpusFile, *, apart: bool) -> Iterator[tuple[str, ...]]:
    """Yields the lines of each document: those between blank lines, or with `apart` false each line.

    Raises UserError for bytes of another encoding, and for a line or document that does not end.
    """
    lines: list[str] = []
    size, first = 0, 1
    for number, line in _numbered(file):
        if line and apart:
            first = number if not lines else first
            lines.append(line)
            size += len(line)
            require_document(file.path, f"line {first:,}", size)
        elif line:
            yield (line,)
        elif lines:
            yield tuple(lines)
            lines, size = [], 0
    if lines:
        yield tuple(lines)


def has_blank_line(file: CorpusFile) -> bool:
    """Whether a blank line separates lines of text."""
    blank = filled = False
    for _, line in _numbered(file):
        if line and blank:
            return True
        filled = filled or bool(line)
        blank = filled and not line
    return False


def filled_lines(text: str) -> Iterator[str]:
    """The lines of a text, stripped, without blank ones."""
    return (line for part in LINE_END.split(text) if (line := part.strip()))


def require_document(path: Path, place: str, size: int) -> None:
    """Raises UserError for a document of more characters than fit in memory several times."""
    if size > LONGEST_DOCUMENT:
        raise UserError(
            f"{path}: the document of {place} has more than {LONGEST_DOCUMENT >> 20} million characters",
            "Put a blank line between documents",
        )


def _numbered(file: CorpusFile) -> Iterator[tuple[int, str]]:
    """The stripped lines with their numbers, blank ones too."""
    with open_text(file.path, compression=file.compression, encoding=file.encoding, newline=None) as opened:
        for number, line in enumerate(iter(partial(opened.readline, LONGEST_LINE), ""), start=1):
            if len(line) == LONGEST_LINE and line[-1] != "\n":
                raise UserError(
                    f"{file.path}:{number}: the line has {LONGEST_LINE >> 20} million characters or more",
                    "Put each sentence or paragraph on a line",
                )
            if not line.isascii() and BAD in line:
                raise UserError(
                    f"{file.path}:{number}: has bytes that are not {spelled(file.encoding)}, as which the file starts",
                    "Save all of it in one encoding, best UTF-8, or name the right one: encoding=NAME",
                )
            yield number, line.strip()
