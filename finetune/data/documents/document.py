"""Reads documents from files of text, as a stream."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from os.path import commonpath
from pathlib import Path

from finetune.data.documents.columns import cells_of, column_of
from finetune.data.documents.corpus_file import CorpusFile, Paths, corpus_files
from finetune.data.documents.lines import filled_lines, has_blank_line, paragraphs, require_document
from finetune.data.file_format import FileFormat
from finetune.data.reading import version_of
from finetune.errors import UserError


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
    apart = any(has_blank_line(file) for file in files if file.form is None)
    for file, name in zip(files, names, strict=True):
        version = version_of(file.path)
        found = paragraphs(file, apart=apart) if file.form is None else _of_cells(file.path, file.form, column)
        filled = (lines for lines in found if lines)
        yield from (Document(f"{name}{number}", lines) for number, lines in zip(count(1), filled, strict=False))
        if version_of(file.path) != version:
            raise UserError(f"{file.path}: changed while it was read", "Wait until it is complete, and start again")


def _of_cells(path: Path, form: FileFormat, column: str) -> Iterator[tuple[str, ...]]:
    for place, text in cells_of(path, form, column):
        require_document(path, place, len(text))
        yield tuple(filled_lines(text))


def _names(paths: Sequence[Path]) -> list[str]:
    """What precedes a document's number in its id: nothing for one file, else the file's name below their folder."""
    if len(paths) == 1:
        return [""]
    folder = commonpath([path.absolute().parent for path in paths])
    return [f"{path.absolute().relative_to(folder).as_posix()}:" for path in paths]
