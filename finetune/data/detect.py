"""What a file is: format, compression, encoding, delimiter and quoting, seen from its content rather than its name."""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from finetune.data.encodings.detect import find_encoding, spelled
from finetune.data.formats.dialect import DELIMITERS, are_rows, dialect_of
from finetune.data.formats.find_word_lines import NoSentences, word_lines_of
from finetune.data.formats.labelled_lines import FASTTEXT, LabelledLines, labelled_lines_of
from finetune.data.formats.word_lines import WordLines
from finetune.errors import UserError, first_line

Kind = Literal["delimited", "json-lines", "json", "parquet", "columns", "labelled", "folders", "excel"]
SAMPLE = 1 << 18  # characters that delimiter, quoting and header are seen from
CHUNK = 1 << 20
LINES_SEEN = 50  # that are tried as JSON


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How a file is to be read.

    `damaged`: some of its bytes are not of its encoding; `sample`: one of its lines, where the encoding is not UTF.
    `skip` lines are above the header. `indexed`: rows have a cell in front that the header has no name for. `run_on`:
    the column whose texts hold the delimiter without quotes, of `width` columns. `words` and `labels` are for files of
    the kinds `columns` and `labelled`.
    """

    kind: Kind
    gzip: bool = False
    encoding: str = "utf-8"
    damaged: bool = False
    sample: str = ""
    delimiter: str = ""
    quoted: bool = False
    quote: str = '"'
    header: bool = True
    indexed: bool = False
    run_on: int | None = None
    skip: int = 0
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
            "folders": "a folder for each class, a file for each text",
        }
        parts = [words[self.kind]]
        if self.kind not in ("parquet", "excel", "folders"):
            parts.append(f"in {spelled(self.encoding)}")
        if self.kind == "delimited":
            single = " in single quotes" if self.quote == "'" else ""
            parts += [f"cells may be quoted{single}" if self.quoted else "quotes mean nothing"]
            parts += [] if self.header else ["no header"]
            parts += ["the first column has no name"] if self.indexed else []
            parts += [f"{self.skip} lines above it are not read"] if self.skip else []
            parts += [] if self.run_on is None else [f"column {self.run_on + 1} of {self.width} runs over delimiters"]
        if self.words is not None:
            parts.append(f"columns {', '.join(self.words.names)}" + ("" if self.words.header else " (no header)"))
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
    if (labels := labelled_lines_of(lines)) is not None and (labels.separator == FASTTEXT or not are_rows(text)):
        return FileFormat(kind="labelled", labels=labels, **found)
    return FileFormat(kind="delimited", **found, **vars(dialect_of(text, suffix)))


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
