"""Reads documents from files of text, as a stream."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from os.path import commonpath
from pathlib import Path

from finetune.data.documents.columns import USUAL, cells_of, column_of
from finetune.data.documents.corpus_file import CorpusFile, Paths, corpus_files
from finetune.data.encodings.detect import spelled
from finetune.data.file_format import FileFormat, Format
from finetune.data.open_files import open_text
from finetune.data.reading import version_of
from finetune.data.records import Record
from finetune.errors import UserError

LONGEST_LINE = 1 << 23  # characters
LONGEST_DOCUMENT = 1 << 26  # characters
LINE_END = re.compile(r"\r\n|\r|\n")
BAD = "\udcff"  # in the place of bytes that are not valid in the encoding


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its lines, stripped and not empty.

    Its `id` is its number in its file, counted from 1, after the file's name where there are several: `b.txt:12`.
    """

    id: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, id: str, text: str) -> "Document":
        """The document of a text whose lines end as those of a file do."""
        return cls(id, tuple(filled_lines(text)))

    @property
    def text(self) -> str:
        """The lines, joined by line ends."""
        return "\n".join(self.lines)

    @property
    def input(self) -> str:
        """As for other rows of user data, all that the model reads."""
        return self.text

    @property
    def gold(self) -> str:
        """A text is its own label."""
        return self.text


def read_documents(paths: Paths, *, column: str = "", encoding: str = "") -> Iterator[Document]:
    """Yields the documents of a file, several, or the files of a folder, with one of them in memory at a time.

    In .txt, blank lines separate documents, and where no file has any, a line is a document; in .jsonl, .csv, .tsv and
    .parquet a cell of `column` is (by default the only column of texts), as in a .txt that is a table. Any may be
    compressed with gzip or xz. An encoding that is not given is detected at each file's start. Documents without any
    text are left out.

    Raises UserError, at once or later, for files that cannot be read or hold another kind of data, bytes of another
    encoding, a file that changes meanwhile, and where there is no document.
    """
    files = corpus_files(paths, encoding, column)
    number = 0
    for number, document in enumerate(_documents(files, column), start=1):  # noqa: B007
        yield document
    if not number:
        raise UserError(f"{_named(files)}: has no text", "Name a file with text in it")


def column_of_files(paths: Paths, *, encoding: str = "") -> str:
    """The column of texts of the first file; empty for lines, which have none. Raises UserError as reading does."""
    first = corpus_files(paths, encoding)[0]
    return "" if first.form is None else column_of(first.path, first.form)


def _named(files: Sequence[CorpusFile]) -> str:
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0].path}{more}"


def _documents(files: Sequence[CorpusFile], column: str) -> Iterator[Document]:
    names = _names([file.path for file in files])
    apart = any(_has_blank_line(file) for file in files if file.form is None)
    for file, name in zip(files, names, strict=True):
        version = version_of(file.path)
        found = _paragraphs(file, apart=apart) if file.form is None else _of_cells(file.path, file.form, column)
        filled = (lines for lines in found if lines)
        yield from (Document(f"{name}{number}", lines) for number, lines in zip(count(1), filled, strict=False))
        if version_of(file.path) != version:
            raise UserError(f"{file.path}: changed while it was read", "Wait until it is complete, and start again")


def _of_cells(path: Path, form: FileFormat, column: str) -> Iterator[tuple[str, ...]]:
    for place, text in cells_of(path, form, column):
        _require_document(path, place, len(text))
        yield tuple(filled_lines(text))


def _names(paths: Sequence[Path]) -> list[str]:
    """What precedes a document's number in its id: nothing for one file, else the file's name below their folder."""
    if len(paths) == 1:
        return [""]
    folder = commonpath([path.absolute().parent for path in paths])
    return [f"{path.absolute().relative_to(folder).as_posix()}:" for path in paths]


def _paragraphs(file: CorpusFile, *, apart: bool) -> Iterator[tuple[str, ...]]:
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
            _require_document(file.path, f"line {first:,}", size)
        elif line:
            yield (line,)
        elif lines:
            yield tuple(lines)
            lines, size = [], 0
    if lines:
        yield tuple(lines)


def _has_blank_line(file: CorpusFile) -> bool:
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


def _require_document(path: Path, place: str, size: int) -> None:
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


def form_of_lines(path: Path, encoding: str = "") -> FileFormat:
    """How a file of lines is read so that each document is a row with one column, `text`, in the encoding that is given
    or detected. Raises UserError as `corpus_files`.
    """
    (file,) = corpus_files(path, encoding)
    return FileFormat(format=DOCUMENTS, compression=file.compression, encoding=file.encoding)


def _as_records(path: Path, form: FileFormat) -> Iterator[Record]:
    for number, document in enumerate(read_documents(path, encoding=form.encoding), start=1):
        yield Record(row=number, line=number, values={USUAL: document.text})


DOCUMENTS = Format(
    name="documents", title="lines of text", sniff=lambda _: None, read=_as_records, lines=False, names_columns=False
)
