"""Documents of unlabelled text, in memory: read from files, and divided into train and dev."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from os.path import commonpath
from pathlib import Path
from re import split
from typing import Any

import numpy as np

from finetune.data.column_types import ColumnFacts, facts_of
from finetune.data.corpus_files import NAMES_SHOWN, Paths, corpus_files
from finetune.data.file_format import FileFormat, Format
from finetune.data.formats import parquet
from finetune.data.issues import REJECTED
from finetune.data.reading import first_rows
from finetune.data.records import SURROGATE, Record
from finetune.data.values import as_text, is_missing
from finetune.errors import UserError, nearest

ROWS_SEEN = 1_000  # rows that the column of texts is detected in
USUAL = "text"  # the column's name where its cells alone do not decide
LONGEST_LINE = 1 << 23  # characters, which are tokenized at once
DEV_SHARE, LEAST_DEV, MOST_DEV = 0.01, 100, 5_000  # documents of different texts


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
        return cls(id, filled_lines(text))

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


class Documents(list[Document]):
    """Documents of a `path`, with a hash of each text `(documents,)`, uint64, and the `column` of a table's texts.

    The `fingerprint` depends on the texts and their order alone, whatever the files' format and names; that of some
    documents of a `corpus` on its fingerprint and on their `numbers` in it.
    """

    column = ""

    def __init__(
        self, documents: Iterable[Document], path: Path, hashes: np.ndarray, corpus: str, numbers: np.ndarray | None
    ) -> None:
        super().__init__(documents)
        self.path, self.hashes, self.corpus, self.fingerprint = path, hashes, corpus, corpus
        self.numbers = np.arange(len(self)) if numbers is None else numbers
        if numbers is not None:
            self.fingerprint = hashlib.sha256(corpus.encode() + numbers.astype("<i8").tobytes()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the texts in UTF-8."""
        return sum(len(document.text.encode()) for document in self)

    def choose(self, which: np.ndarray) -> "Documents":
        """Those documents, by index or by a mask `(documents,)`."""
        places = np.arange(len(self))[which]
        documents = (self[place] for place in places)
        return Documents(documents, self.path, self.hashes[places], self.corpus, self.numbers[places])


def read_documents(paths: Paths, *, column: str = "", encoding: str = "") -> Documents:
    """The documents of a file, several, or the files of a folder; those without any text are left out.

    In .txt, blank lines separate documents, and where no file has any, a line is a document; in .jsonl, .csv, .tsv and
    .parquet a cell of `column` is (by default the only column of texts), as in a .txt that is a table. Any may be
    compressed with gzip or xz. An encoding that is not named is detected.

    Raises UserError for files that cannot be read or hold another kind of data, bytes of another encoding, a line that
    does not end, and where there is no document.
    """
    files = corpus_files(paths, LINES_OF_TEXT, encoding=encoding, column=column)
    tables = {path: column_of(path, form, column) for path, form in files if form.format is not LINES_OF_TEXT}
    texts = {
        path: list(_cells(path, form, tables[path])) if path in tables else _paragraphs(path, form)
        for path, form in files
    }
    lined = texts.keys() - tables.keys()
    if all(len(texts[path]) < 2 for path in lined):  # no blank line between lines
        texts |= {path: [(line,) for lines in texts[path] for line in lines] for path in lined}
    folder = commonpath([path.absolute().parent for path, _ in files])
    documents = list[Document]()
    for path, text in texts.items():
        name = f"{path.absolute().relative_to(folder).as_posix()}:" if len(files) > 1 else ""
        for number, lines in enumerate(filter(None, text), start=1):
            if max(map(len, lines)) >= LONGEST_LINE:
                raise UserError(
                    f"{path}: a line of document {number:,} has {LONGEST_LINE >> 20} million characters or more",
                    "Put each sentence or paragraph on a line",
                )
            documents.append(Document(f"{name}{number}", lines))
    if not documents:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise UserError(f"{files[0][0]}{more}: has no text", "Name a file with text in it")
    digests = b"".join(hashlib.sha256(document.text.encode()).digest() for document in documents)
    hashes = np.frombuffer(digests, "<u8")[::4].astype(np.uint64)  # the first 8 bytes of each
    path = Path(paths if isinstance(paths, str | PathLike) else paths[0])
    read = Documents(documents, path, hashes, hashlib.sha256(digests).hexdigest(), None)
    read.column = tables.get(files[0][0], "")
    return read


def split_documents(documents: Documents) -> tuple[Documents, Documents]:
    """(train, dev): dev are the documents whose texts have the lowest hashes, equal texts on one side.

    Of n different texts dev has 1 %, at least 100, at most 5,000, and never more than half. A longer corpus moves
    no document from train to dev where the number for dev stays, and keeps dev but for a few at its edge where the
    share stays (10,000 to 500,000 texts); while the share falls, which it does below and above that, some of dev
    become train. Raises UserError for fewer than two different texts.
    """
    different = np.unique(documents.hashes)
    if len(different) < 2:
        count = "one document" if len(documents) == 1 else f"{len(documents):,} documents, all with the same text"
        raise UserError(
            f"{documents.path}: has {count}, which cannot be both trained on and scored",
            "Put a blank line between documents, or give more text",
        )
    size = min(len(different) // 2, max(LEAST_DEV, min(MOST_DEV, round(DEV_SHARE * len(different)))))
    is_dev = documents.hashes <= different[size - 1]
    return documents.choose(~is_dev), documents.choose(is_dev)


def filled_lines(text: str) -> tuple[str, ...]:
    """The lines of a text, stripped, without blank ones."""
    return tuple(line for part in split(r"\r\n|\r|\n", text) if (line := part.strip()))


def column_of(path: Path, form: FileFormat, column: str = "") -> str:
    """The name of a table's column of texts, which may be given. Raises UserError where there is none, or several."""
    columns = first_rows(path, form, most=ROWS_SEEN).columns
    if not column:
        return only_text(path, {name: facts_of(name, cells) for name, cells in columns.items()})
    if column not in columns:
        listed = ", ".join([*columns][:NAMES_SHOWN])
        raise UserError(
            f"{path}: has no column '{column}' (its columns: {listed})",
            f"{nearest(column, [*columns])}Name one: text=NAME",
        )
    return column


def only_text(path: Path, facts: Mapping[str, ColumnFacts]) -> str:
    """The only column, else the only one of texts, else `text`. Raises UserError where there is none, or several."""
    names = list(facts)
    texts = names if len(names) == 1 else [name for name in names if facts[name].kind == "text"]
    if len(texts) == 1 or (not texts and USUAL in names):
        return texts[0] if texts else USUAL
    listed = ", ".join((texts or names)[:NAMES_SHOWN])
    what = f"several columns of texts ({listed})" if texts else f"no column of texts (among {listed})"
    raise UserError(f"{path}: has {what}", f"Name the one to read: text={(texts or names)[0]}")


def form_of_lines(path: Path, encoding: str = "") -> FileFormat:
    """How a file of lines is read so that each document is a row with one column, `text`, in the encoding that is given
    or detected. Raises UserError as `corpus_files`.
    """
    ((_, form),) = corpus_files(path, LINES_OF_TEXT, encoding=encoding)
    return form


def _paragraphs(path: Path, form: FileFormat) -> list[tuple[str, ...]]:
    """The lines between blank lines."""
    with form.open_text(path) as opened:
        lines = [_valid(path, number, line.strip()) for number, line in enumerate(opened, start=1)]
    return [tuple(group) for filled, group in groupby(lines, bool) if filled]


def _cells(path: Path, form: FileFormat, column: str) -> Iterator[tuple[str, ...]]:
    """The lines of each cell; the items of one that is a list are lines."""
    is_parquet = form.format is parquet.FORMAT
    for record in parquet.read(path, form, [column]) if is_parquet else form.format.read(path, form):
        cell: Any = record.values.get(column)
        if record.fault is not None and record.fault.issue != REJECTED:
            raise UserError(f"{path}:{record.line}: {record.fault.what}", record.fault.issue.remedy.partition(";")[0])
        if isinstance(cell, dict):
            raise UserError(
                f"{path}:{record.line}: the cell of '{column}' is an object, not a text",
                "Name another column: text=NAME",
            )
        if isinstance(cell, list):
            cell = "\n".join(as_text(item) for item in cell if not isinstance(item, dict))
        if record.fault is None:
            yield filled_lines(_valid(path, record.line, "" if is_missing(cell) else as_text(cell)))


def _valid(path: Path, number: int, text: str) -> str:
    """The text. Raises UserError for bytes that are not valid in the file's encoding, and for half a character."""
    if not text.isascii() and SURROGATE.search(text):
        raise UserError(
            f"{path}:{number}: has bytes that are not valid in the encoding of the file",
            "Save all of it in one encoding, best UTF-8, or name the right one: encoding=NAME",
        )
    return text


def _as_records(path: Path, form: FileFormat) -> Iterator[Record]:
    for number, document in enumerate(read_documents(path, encoding=form.encoding), start=1):
        yield Record(row=number, line=number, values={USUAL: document.text})


LINES_OF_TEXT = Format(
    name="documents", title="lines of text", sniff=lambda _: None, read=_as_records, lines=False, names_columns=False
)
