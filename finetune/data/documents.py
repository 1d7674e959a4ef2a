"""Documents of unlabelled text, in memory: read from files, and divided into train and dev."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from os.path import commonpath
from pathlib import Path

import numpy as np

from finetune.data.column_types import ColumnFacts, facts_of
from finetune.data.encodings import has_zeros, marked
from finetune.data.file_format import FileFormat, Format
from finetune.data.files import NO_DATA
from finetune.data.formats import delimited, json_document, parquet
from finetune.data.formats.dialect import split_rows
from finetune.data.issues import REJECTED
from finetune.data.open_files import BLANK, CHUNK_BYTES, PACKED, FileStart, compression_of, open_bytes
from finetune.data.paths import is_folder, is_pattern, matching, require_file, require_utf_8
from finetune.data.reading import read_table
from finetune.data.records import SURROGATE, Record
from finetune.data.values import as_text, is_missing
from finetune.errors import UserError, nearest

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
LINES = (".txt", ".text")
TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
READ = f"{', '.join((*LINES, *TABLES))}, also as {' or '.join(PACKED)}"
NEEDED = "Write text into it: a sentence or paragraph on a line, a blank line between documents"
BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
NAMES_SHOWN = 8
ROWS_SEEN = 1_000  # rows that the column of texts is detected in
USUAL = "text"  # the column's name where its cells alone do not decide
LONGEST_LINE = 1 << 23  # characters, which are tokenized at once
MANY_COLUMNS, LONGEST_NAME = 100, 1_000  # that no table of texts has, and characters of no name of a column
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
        """The document of a text with any kind of line ends."""
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

    The `fingerprint` depends on the texts and their order alone, whatever the files' format and names; of a part of a
    `corpus`, on the corpus's fingerprint and the documents' `numbers` in it.
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

    In .txt, blank lines separate documents, and where no file has any, a line is a document; in a table a cell of
    `column` is (by default the only column of texts), as in a .txt that is one. An encoding that is not named is
    detected.

    Raises UserError for files that cannot be read or hold another kind of data, bytes of another encoding, a line that
    does not end, a .txt that is a table and no column is named, and where there is no document.
    """
    several = [paths] if isinstance(paths, str | PathLike) else paths
    files = list(dict.fromkeys(file for path in several for file in _files(Path(path))))
    if not files:
        raise UserError("no file of text was named", f"Name a file, or a folder with files of text: {READ}")
    filled = [file for file in files if not is_empty(file)]
    if not filled:
        raise UserError(f"{files[0]}: is empty", NEEDED)
    texts, columns = dict[Path, list[tuple[str, ...]]](), dict[Path, str]()
    for file in filled:
        if _is_table(FileStart(file, encoding), column):
            columns[file], texts[file] = _cells(file, encoding, column)
        else:
            texts[file] = _paragraphs(file, form_of_lines(file, encoding))
    lined = texts.keys() - columns.keys()
    if all(len(texts[path]) < 2 for path in lined):  # no blank line between lines
        texts |= {path: [(line,) for lines in texts[path] for line in lines] for path in lined}
    folder = commonpath([path.absolute().parent for path in filled])
    documents = list[Document]()
    for path, text in texts.items():
        name = f"{path.absolute().relative_to(folder).as_posix()}:" if len(filled) > 1 else ""
        for number, lines in enumerate(filter(None, text), start=1):
            if max(map(len, lines)) >= LONGEST_LINE:
                raise UserError(
                    f"{path}: a line of document {number:,} has {LONGEST_LINE >> 20} million characters or more",
                    "Put each sentence or paragraph on a line",
                )
            documents.append(Document(f"{name}{number}", lines))
    if not documents:
        more = f" and {len(filled) - 1} more" if len(filled) > 1 else ""
        raise UserError(f"{filled[0]}{more}: has no text", "Name a file with text in it")
    digests = b"".join(hashlib.sha256(document.text.encode()).digest() for document in documents)
    hashes = np.frombuffer(digests, "<u8")[::4].astype(np.uint64)  # the first 8 bytes of each
    read = Documents(documents, Path(several[0]), hashes, hashlib.sha256(digests).hexdigest(), None)
    read.column = columns.get(filled[0], "")
    return read


def split_documents(documents: Documents) -> tuple[Documents, Documents]:
    """(train, dev): dev are the documents whose texts have the lowest hashes, equal texts on one side.

    Of n different texts dev has 1 %, at least 100, at most 5,000, and never more than half. When the corpus grows, dev
    changes little: from 10,000 to 500,000 texts, where the share is constant, only a few documents at its edge change
    sides; outside this range some of dev become train, none of train become dev. Raises UserError for fewer than two
    different texts.
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
    return tuple(line for part in re.split(r"\r\n|\r|\n", text) if (line := part.strip()))


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
    or detected. Raises UserError for a file that is empty or cannot be read.
    """
    start = FileStart(require_file(path), encoding)
    start.require_supported()
    if has_zeros(start.head) and not (encoding or marked(start.head)):
        raise UserError(f"{path}: is a binary file, not text", f"Name a file of text: {READ}")
    return FileFormat.of(start, LINES_OF_TEXT, True)


def is_empty(file: Path) -> bool:
    """Whether a file has nothing but white space."""
    with open_bytes(file, compression=compression_of(file)) as opened:
        start = opened.read(CHUNK_BYTES)
    return len(start) < CHUNK_BYTES and not start.strip(BLANK)


def columns_of_lines(start: FileStart) -> list[str]:
    """The columns of a .txt whose lines are divided alike by a sign; none where they are text.

    A sign that only ends or begins the lines (`word,`) divides nothing, and commas in a long line make no header.
    """
    layout = delimited.sniff(start)
    rows = split_rows(start.text, layout.delimiter, quoted=layout.quoted) if layout.delimiter else []
    filled = {place for row in rows for place, cell in enumerate(row) if cell.strip()}
    if len(filled) < 2 or (len(rows[0]) > MANY_COLUMNS and max(map(len, rows[0])) > LONGEST_NAME):
        return []
    return delimited.header(start.path, FileFormat.of(start, delimited.FORMAT, layout))


def _files(path: Path) -> list[Path]:
    """The files of a name: of a folder all that are named as text is and are not hidden."""
    require_utf_8(path)
    if not is_folder(path):
        return matching(path) if is_pattern(path) else [require_file(path)]
    files = sorted(
        file
        for file in path.rglob("*")
        if file.is_file()
        and FileStart(file).suffix in (*LINES, *TABLES)
        and not NO_DATA.fullmatch(file.name)
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise UserError(f"{path}: has no file of text", f"Name a folder with files called {READ}")
    return files


def _is_table(start: FileStart, column: str) -> bool:
    """Whether a file is a table. Raises UserError for a .txt that is a table, unless a column is named."""
    if start.suffix not in LINES:
        return start.suffix in TABLES or parquet.FORMAT.sniff(start) or json_document.LINES.sniff(start)
    if has_zeros(start.head) and not (start.given or marked(start.head)):
        return False  # which is a binary file
    columns = columns_of_lines(start)
    if columns and not column and not BLANK_LINE.search(start.text.strip()):
        raise UserError(
            f"{start.path}: is a table, with the columns {', '.join(columns[:NAMES_SHOWN])}",
            "Name the one to read, text=NAME; if its lines are still text, put a blank line between documents",
        )
    if column and not columns:
        raise UserError(f"{start.path}: is lines of text, without a column '{column}'", "Leave text= out")
    return bool(column)


def _paragraphs(path: Path, form: FileFormat) -> list[tuple[str, ...]]:
    with form.open_text(path) as opened:
        lines = [_valid(path, number, line.strip()) for number, line in enumerate(opened, start=1)]
    return [tuple(group) for filled, group in groupby(lines, bool) if filled]


def _cells(path: Path, encoding: str, column: str) -> tuple[str, list[tuple[str, ...]]]:
    """(the column of texts, the lines of each cell in it); the items of one that is a list are lines."""
    table = read_table(path, encoding)
    if fault := next((record for record in table.faults if record.fault and record.fault.issue != REJECTED), None):
        raise UserError(f"{path}:{fault.line}: {fault.fault.what}", fault.fault.issue.remedy.partition(";")[0])  # type: ignore[union-attr]
    columns = {name: cells for name, cells in table.columns.items() if name == column or name not in table.derived}
    if column and column not in columns:
        listed = ", ".join([*columns][:NAMES_SHOWN])
        raise UserError(
            f"{path}: has no column '{column}' (its columns: {listed})",
            f"{nearest(column, [*columns])}Name one: text=NAME",
        )
    column = column or only_text(path, {name: facts_of(name, cells[:ROWS_SEEN]) for name, cells in columns.items()})
    texts = []
    for line, cell in zip(table.lines, columns[column], strict=True):
        if isinstance(cell, dict):
            raise UserError(
                f"{path}:{line}: the cell of '{column}' is an object, not a text", "Name another column: text=NAME"
            )
        if isinstance(cell, list):
            cell = "\n".join(as_text(item) for item in cell if not isinstance(item, dict))
        texts.append(filled_lines(_valid(path, line, "" if is_missing(cell) else as_text(cell))))
    return column, texts


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
