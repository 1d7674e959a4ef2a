"""What a file is: format, compression, encoding, delimiter and quoting, seen from its content rather than its name."""

import codecs
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from finetune.data.encodings import find_encoding, spelled
from finetune.data.kinds import NUMBER
from finetune.data.labelled_lines import LabelledLines, labelled_lines_of
from finetune.data.run_on import run_on_column, usual_width
from finetune.data.word_lines import NoSentences, WordLines, word_lines_of
from finetune.errors import UserError, first_line

Kind = Literal["delimited", "json-lines", "json", "parquet", "columns", "labelled", "excel"]
SAMPLE = 1 << 18  # characters that delimiter, quoting and header are seen from
CHUNK = 1 << 20
LINES_SEEN = 50  # that are tried as JSON
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}

csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How a file is to be read.

    `damaged`: some of its bytes are not of its encoding; `sample`: one of its lines, where the encoding is not UTF.
    `indexed`: rows have a cell in front that the header has no name for. `run_on`: the column whose texts hold the
    delimiter without quotes, of `width` columns. `words` and `labels` are for files of the kinds `columns` and
    `labelled`.
    """

    kind: Kind
    gzip: bool = False
    encoding: str = "utf-8"
    damaged: bool = False
    sample: str = ""
    delimiter: str = ""
    quoted: bool = False
    header: bool = True
    indexed: bool = False
    run_on: int | None = None
    width: int = 0
    words: WordLines | None = None
    labels: LabelledLines | None = None

    def __str__(self) -> str:
        """In words: `CSV parted by commas, in UTF-8, cells in quotes, gzip`."""
        words = {
            "delimited": f"text parted by {DELIMITERS.get(self.delimiter, 'nothing: one column')}",
            "json-lines": "JSON Lines",
            "json": "JSON",
            "parquet": "Parquet",
            "columns": "a word a line",
            "labelled": "a label and a text a line",
            "excel": "Excel",
        }
        parts = [words[self.kind]]
        if self.kind not in ("parquet", "excel"):
            parts.append(f"in {spelled(self.encoding)}")
        if self.kind == "delimited":
            parts += ["cells may be quoted" if self.quoted else "quotes mean nothing"]
            parts += [] if self.header else ["no header"]
            parts += ["the first column has no name"] if self.indexed else []
            parts += [] if self.run_on is None else [f"column {self.run_on + 1} of {self.width} runs over delimiters"]
        if self.words is not None:
            parts.append(f"columns {', '.join(self.words.names)}" + ("" if self.words.header else " (no header)"))
        return ", ".join([*parts, *(["gzip"] if self.gzip else [])])

    def encoding_notes(self, path: Path) -> list[str]:
        """What a text was read as, with a line of it, where its encoding is not UTF."""
        said = f"{path}: read as {spelled(self.encoding)}, such as {self.sample}; encoding=NAME sets another"
        return [said] if self.sample else []


def detect(path: Path, encoding: str = "") -> FileFormat:
    """What a file is, in the encoding that is given or found.

    Raises UserError for one that is absent, empty, of a kind that is not read, or in no known encoding.
    """
    if path.is_dir():
        raise UserError(f"{path}: is a folder", "Name a file in it")
    with open_bytes(path, packed=False) as file:
        packed = file.read(2) == b"\x1f\x8b"
    with open_bytes(path, packed=packed) as file:
        start = file.read(CHUNK)
    if not start.strip(b"\0 \r\n\t\xef\xbb\xbf\xff\xfe"):
        raise UserError(f"{path}: is empty", "Give a file with a header and rows")
    if start[:4] == b"PAR1":
        return FileFormat(kind="parquet", gzip=packed)
    if start[:4] == b"PK\x03\x04" and b"xl/" in start + path.name.encode():
        return FileFormat(kind="excel", gzip=packed)
    for magic, name in ((b"PK\x03\x04", "a zip archive"), (b"\xd0\xcf\x11\xe0", "an old Excel file"), (b"%PDF", "PDF")):
        if start.startswith(magic):
            raise UserError(f"{path}: is {name}, which is not read", "Save it as CSV, or unpack it")
    found = find_encoding(path, partial(open_bytes, path, packed=packed), encoding)
    text = _head(path, found.name, packed=packed)
    form = _text_format(path, text, encoding=found.name, damaged=found.damaged, packed=packed)
    return replace(form, sample=found.sample)


@contextmanager
def open_bytes(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    """A file's bytes, unpacked where it is gzip. Raises UserError where they cannot be read, then or later."""
    try:
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            yield file  # type: ignore[misc]
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise UserError(f"{path}: cannot be read ({reason})", "Check its name and that it is whole") from error


@contextmanager
def open_text(path: Path, form: FileFormat) -> Iterator[io.TextIOWrapper]:
    """A file's text with its line ends as they are; bytes that are not of its encoding become lone surrogates."""
    codecs.register_error("lone-surrogate", _lone_surrogate)  # Python's own handler knows no UTF-16
    with open_bytes(path, packed=form.gzip) as file:
        yield io.TextIOWrapper(file, encoding=form.encoding, errors="lone-surrogate", newline="")


def _lone_surrogate(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    raise error


def _head(path: Path, encoding: str, *, packed: bool) -> str:
    """The beginning of a text, up to the end of a line."""
    with open_text(path, FileFormat(kind="delimited", gzip=packed, encoding=encoding)) as file:
        text = file.read(SAMPLE)
    if len(text) < SAMPLE or "\n" not in text:
        return text
    return text[: text.rindex("\n") + 1]


def _text_format(path: Path, text: str, *, encoding: str, damaged: bool, packed: bool) -> FileFormat:
    suffix = next((s for s in reversed(path.suffixes) if s.lower() != ".gz"), "").lower()
    lines = [line for line in re.split(r"\r\n|\n|\r", text) if line.strip()]
    if not lines:
        raise UserError(f"{path}: is empty", "Give a file with a header and rows")
    if suffix not in (".csv", ".tsv"):
        if len(text) >= SAMPLE and len(lines) == 1 and text.lstrip().startswith("{"):
            lines = _first_two(path, FileFormat(kind="json", gzip=packed, encoding=encoding))
        if kind := _json_kind(lines, suffix):
            return FileFormat(kind=kind, gzip=packed, encoding=encoding, damaged=damaged)
    found: dict[str, Any] = {"gzip": packed, "encoding": encoding, "damaged": damaged}
    try:
        words = word_lines_of(text)
    except NoSentences:
        raise UserError(
            f"{path}: has a word and its tag in each line, but neither empty lines nor a column of sentence numbers",
            "Put an empty line between sentences, or add a column such as `sentence` with their numbers",
        ) from None
    if words is not None:
        return FileFormat(kind="columns", words=words, **found)
    delimiter, quoted = _delimiter(text, suffix)
    if not _are_rows(text) and (labels := labelled_lines_of(lines)) is not None:
        return FileFormat(kind="labelled", labels=labels, **found)
    header = _has_header(text, delimiter, quoted=quoted)
    indexed = header and _is_indexed(text, delimiter, quoted=quoted)
    form = FileFormat(kind="delimited", delimiter=delimiter, quoted=quoted, header=header, indexed=indexed, **found)
    if not delimiter or indexed:
        return form
    rows = [fields for fields in split_rows(text, delimiter, quoted=quoted) if fields][:-1]
    width = len(rows[0]) if header and rows else usual_width(rows)
    run_on = run_on_column(rows[header:], width)
    return form if run_on is None else replace(form, run_on=run_on, width=width)


def _are_rows(text: str) -> bool:
    """Whether one of the delimiters parts nearly all lines into the same number of cells."""
    for delimiter, quoted in ((d, q) for d in DELIMITERS for q in (True, False)):
        widths = Counter(len(fields) for fields in split_rows(text, delimiter, quoted=quoted) if fields)
        width, rows = widths.most_common(1)[0]
        if width > 1 and rows >= 0.95 * widths.total():
            return True
    return False


def _is_indexed(text: str, delimiter: str, *, quoted: bool) -> bool:
    """Whether all rows have one cell more than the header, and the first is no text: the index of a data frame."""
    rows = [fields for fields in split_rows(text, delimiter, quoted=quoted) if fields]
    first, rest = rows[0], rows[1:]
    if len(rest) < 2 or any(len(fields) != len(first) + 1 for fields in rest[:-1]):
        return False
    indexes = [fields[0] for fields in rest[:-1]]
    return len(set(indexes)) == len(indexes) and not any(" " in index.strip() for index in indexes)


def _first_two(path: Path, form: FileFormat) -> list[str]:
    """The first lines with something in them, whole ones however long they are."""
    with open_text(path, form) as file:
        return list(islice((line for line in file if line.strip()), 2))


def _json_kind(lines: Sequence[str], suffix: str) -> Kind | None:
    """JSON Lines where most lines are an object each, or the name says so and some are; else JSON, if it begins so."""
    some = lines[:LINES_SEEN]
    objects = sum(map(_is_object, some))
    by_name = suffix in (".jsonl", ".ndjson")
    alone = suffix == ".json" and len(lines) == 1
    if (objects >= 0.5 * len(some) and not alone) or (by_name and objects):
        return "json-lines"
    if lines[0].lstrip()[:1] not in ("{", "["):
        return None
    return "json-lines" if by_name else "json"


def _is_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _delimiter(text: str, suffix: str) -> tuple[str, bool]:
    """The delimiter, and whether quotes hold cells together, that give the most rows one number of fields.

    Quotes that would join lines which are whole rows by themselves are part of the texts.
    """
    preferred = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(suffix, "")
    best, found = (0.0, False, False), ("", '"' in text and _proper_quotes(text, ","))
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        for quoted in (True, False) if '"' in text else (True,):
            found_rows = [len(fields) for fields in split_rows(text, delimiter, quoted=quoted) if fields]
            counts = Counter(found_rows)
            columns, rows = max(counts.items(), key=lambda item: item[1])
            if columns < 2:
                continue
            proper = not quoted or (_proper_quotes(text, delimiter) and not (delimiter == "\t" and _joins_rows(text)))
            indexed = found_rows[0] == columns - 1 > 0 and set(found_rows[1:]) == {columns}
            first = found_rows[0] == columns or indexed  # a header without it tells that it only stands in the texts
            share = round(rows / counts.total(), 2) - 0.3 * (not proper) - 0.6 * (not first)
            rank = (share, delimiter == preferred, quoted)
            if rank > best:
                best, found = rank, (delimiter, quoted)
    if best[0] < 0.5 and preferred and preferred in text.partition("\n")[0]:
        return preferred, found[1]
    return found if best[0] >= 0.5 else ("", '"' in text and _proper_quotes(text, ","))


def _joins_rows(text: str) -> bool:
    """Whether lines are rows of equal width by their tabs, of which reading quotes would join some."""
    plain = Counter(len(fields) for fields in split_rows(text, "\t", quoted=False) if fields)
    width, rows = plain.most_common(1)[0]
    joined = sum(bool(fields) for fields in split_rows(text, "\t", quoted=True))
    return width > 1 and rows >= 0.99 * plain.total() and joined < plain.total()


def split_rows(text: str, delimiter: str, *, quoted: bool) -> Iterator[list[str]]:
    """The fields of each row of a text that is whole."""
    lines = io.StringIO(text, newline="")
    return csv_reader(lines, delimiter, quoted=quoted)


def csv_reader(lines: Iterable[str], delimiter: str, *, quoted: bool, strict: bool = False) -> Iterator[list[str]]:
    """The fields of lines; without a delimiter each line is one field. `strict` raises csv.Error for bad quotes."""
    between = delimiter or "\x1f"
    return csv.reader(lines, delimiter=between, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=strict)


def _proper_quotes(text: str, delimiter: str) -> bool:
    """Whether cells that begin with a quote also end with one, in nearly all rows."""
    edge = re.escape(delimiter)
    cells = re.findall(rf'(?:^|{edge})("(?:[^"]|"")*"(?=$|\r|{edge})|"[^"\n]*)', text, flags=re.MULTILINE)
    whole = sum(len(cell) > 1 and cell.endswith('"') for cell in cells)
    return bool(cells) and whole > 0.9 * len(cells)


def _has_header(text: str, delimiter: str, *, quoted: bool) -> bool:
    """Whether the first row names the columns: no number where the others have them, no value that comes again."""
    rows = [fields for fields in split_rows(text, delimiter, quoted=quoted) if fields][:500]
    first, rest = rows[0], [fields for fields in rows[1:] if len(fields) == len(rows[0])]
    if len(first) == 1 and len(first[0].split()) > 2:
        return False  # a text a line
    if any(len(cell) > 100 for cell in first):
        return not rest
    for column, name in enumerate(first):
        below = [fields[column].strip() for fields in rest if fields[column].strip()]
        if not below:
            continue
        numeric = sum(NUMBER.fullmatch(cell) is not None for cell in below) > 0.9 * len(below)
        if numeric and NUMBER.fullmatch(name.strip()):
            return False
        if len(set(below)) <= 0.2 * len(below) and name.strip() in below:
            return False
    return True
