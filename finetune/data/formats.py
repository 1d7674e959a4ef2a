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
from typing import IO, Literal

from finetune.columns import TAG
from finetune.data.encodings import find_encoding, spelled
from finetune.errors import UserError, first_line

Kind = Literal["delimited", "json-lines", "json", "parquet", "columns", "excel"]
SAMPLE = 1 << 18  # characters that delimiter, quoting and header are seen from
CHUNK = 1 << 20
LINES_SEEN = 50  # that are tried as JSON
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|\.\d+)([eE][-+]?\d+)?")

csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How a file is to be read.

    `damaged`: some of its bytes are not of its encoding; `sample`: one of its lines, where the encoding is not UTF.
    """

    kind: Kind
    gzip: bool = False
    encoding: str = "utf-8"
    damaged: bool = False
    sample: str = ""
    delimiter: str = ""
    quoted: bool = False
    header: bool = True

    def __str__(self) -> str:
        """In words: `CSV parted by commas, in UTF-8, cells in quotes, gzip`."""
        words = {
            "delimited": f"text parted by {DELIMITERS.get(self.delimiter, 'nothing: one column')}",
            "json-lines": "JSON Lines",
            "json": "JSON",
            "parquet": "Parquet",
            "columns": "CoNLL columns",
            "excel": "Excel",
        }
        parts = [words[self.kind]]
        if self.kind not in ("parquet", "excel"):
            parts.append(f"in {spelled(self.encoding)}")
        if self.kind == "delimited":
            parts += ["cells may be quoted" if self.quoted else "quotes mean nothing"]
            parts += [] if self.header else ["no header"]
        return ", ".join([*parts, *(["gzip"] if self.gzip else [])])

    def encoding_notes(self, path: Path) -> list[str]:
        """What a text was read as, with a line of it, where its encoding is not UTF."""
        note = f"{path}: read as {spelled(self.encoding)}, such as {self.sample}; encoding=NAME sets another"
        return [note] if self.sample else []


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
    if suffix not in (".csv", ".tsv") and _is_columns(text):
        return FileFormat(kind="columns", gzip=packed, encoding=encoding, damaged=damaged)
    delimiter, quoted = _delimiter(text, suffix)
    return FileFormat(
        kind="delimited",
        gzip=packed,
        encoding=encoding,
        damaged=damaged,
        delimiter=delimiter,
        quoted=quoted,
        header=_has_header(text, delimiter, quoted=quoted),
    )


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


def _is_columns(text: str) -> bool:
    """Whether words stand in the first column and tags in the last, with empty lines between sentences."""
    lines = [line.split() for line in text.splitlines()[:2000]]
    tagged = [line for line in lines if len(line) >= 2 and line[0] != "-DOCSTART-"]
    filled = [line for line in lines if line and line[0] != "-DOCSTART-"]
    if len(tagged) < 0.7 * len(filled) or not tagged or not any(not line for line in lines[1:-1]):
        return False
    right = sum(TAG.fullmatch(line[-1]) is not None for line in tagged)
    return right >= 0.9 * len(tagged)


def _delimiter(text: str, suffix: str) -> tuple[str, bool]:
    """The delimiter, and whether quotes hold cells together, that give the most rows one number of fields."""
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
            proper = not quoted or _proper_quotes(text, delimiter)
            first = found_rows[0] == columns  # a header without it tells that it only stands in the texts
            share = round(rows / counts.total(), 2) - 0.3 * (not proper) - 0.6 * (not first)
            rank = (share, delimiter == preferred, quoted)
            if rank > best:
                best, found = rank, (delimiter, quoted)
    if best[0] < 0.5 and preferred and preferred in text.partition("\n")[0]:
        return preferred, found[1]
    return found if best[0] >= 0.5 else ("", '"' in text and _proper_quotes(text, ","))


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
