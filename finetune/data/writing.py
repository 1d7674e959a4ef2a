"""Writes rows in any format: atomically, and with cells unchanged except where escaping is asked for."""

import gzip
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.data.atomic import output_file
from finetune.data.detect import BY_SUFFIX
from finetune.data.file_format import FileFormat, Format, OutputFormat
from finetune.data.formats.json_document import SQUAD
from finetune.errors import UserError

ESCAPED = "escaped with a leading apostrophe, so that no spreadsheet runs them"


def written_suffix(path: Path) -> str:
    """A file's suffix without `.gz`, which decides the format it is written in."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def written_format(path: Path) -> Format:
    """The format to write a file in, by its suffix. Raises UserError for an unsupported one."""
    suffix = written_suffix(path)
    if suffix not in BY_SUFFIX:
        raise UserError(f"{path}: unsupported output suffix '{suffix}'", f"End it with {', '.join(BY_SUFFIX)}")
    if BY_SUFFIX[suffix].compressed and path.suffix == ".gz":
        raise UserError(f"{path}: {suffix} files are already compressed", "Leave .gz out")
    return BY_SUFFIX[suffix]


def require_writable(path: Path, output: OutputFormat, *, rows: int = 0) -> None:
    """Raises UserError, before any work, where about so many rows do not fit the format."""
    if (fits := written_format(path).fits) is not None:
        fits(path, output, rows)


def output_format(
    path: Path, names: Collection[str], *, escaped: Collection[str] = (), like: FileFormat | None = None
) -> OutputFormat:
    """How a file with these columns is written, if its input is read as `like`."""
    marked, layout = like is not None and keeps_mark(path, like), None if like is None else like.layout
    return OutputFormat(suffix=written_suffix(path), names=[*names], escaped=escaped, marked=marked, like=layout)


def keeps_mark(path: Path, like: FileFormat) -> bool:
    """Whether a file is written with a byte-order mark, which Excel needs to read UTF-8: CSV and TSV whose input has
    one, or is in an older encoding.
    """
    return written_format(path).markable and like.format.text and like.encoding != "utf-8"


def holds_columns(path: Path, like: FileFormat) -> bool:
    """Whether all columns are written to a file: not to one of tags, or of SQuAD's answers by id."""
    form = written_format(path)
    return form.name != "word-lines" and not (form.name == "json" and like.layout == SQUAD)


def write_rows(
    path: Path,
    rows: Iterable[Mapping[str, Any]],
    names: Sequence[str],
    *,
    escaped: Collection[str] = (),
    like: FileFormat | None = None,
) -> int:
    """Writes all rows, which may be iterated twice, with these columns; replaces the file once it is complete.

    In CSV and TSV, cells of the columns `escaped` that a spreadsheet would run as a formula get a leading
    apostrophe; returns how many did.
    Raises UserError where the file cannot be written.
    """
    output = output_format(path, names, escaped=escaped, like=like)
    require_writable(path, output)
    write = written_format(path).write
    assert write is not None  # formats in BY_SUFFIX have one
    with output_file(path) as scratch, gzip.open(scratch, "wb") if path.suffix == ".gz" else scratch.open("wb") as file:
        return write(file, rows, output)  # type: ignore[arg-type]
