"""Arrow files, and the folder of one split that `datasets` writes with `save_to_disk`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.formats.parquet import bounded, records_of
from finetune.data.paths import is_file, is_folder, read_small_text
from finetune.data.records import Record
from finetune.errors import UserError, first_line

STATE = "state.json"  # lists the files of a split, in their order
SPLITS = "dataset_dict.json"  # is in a folder with one folder a split
MOST_BYTES = 100_000_000  # of STATE
STREAM, FILE = b"\xff\xff\xff\xff", b"ARROW1"  # how both kinds of files begin


def is_saved(folder: Path) -> bool:
    """Whether it is the folder of a split that `datasets` saved."""
    return is_folder(folder) and is_file(folder / STATE)


def sniff(start: FileStart) -> bool:
    """Whether it is such a folder, or a file that begins as Arrow's do."""
    return is_saved(start.path) or (not is_folder(start.path) and start.head.startswith((STREAM, FILE)))


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row."""
    yield from records_of(batch for file in _files(path) for batch in bounded(file, _batches(file, form)))


def arrow_metadata(path: Path, form: FileFormat) -> dict[bytes, bytes]:
    """The metadata of the first file."""
    with _opened(_files(path)[0], form) as opened:
        return opened.schema.metadata or {}


def _files(path: Path) -> list[Path]:
    """The files of a split. Raises UserError for a folder that does not say which."""
    if not is_folder(path):
        return [path]
    try:
        listed = json.loads(read_small_text(path / STATE, most=MOST_BYTES))["_data_files"]
        return [path / Path(one["filename"]).name for one in listed]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path / STATE}: lists no files ({first_line(error)})", "Save the data again") from error


def _batches(path: Path, form: FileFormat) -> Iterator[Any]:
    with _opened(path, form) as opened:
        if hasattr(opened, "num_record_batches"):
            yield from map(opened.get_batch, range(opened.num_record_batches))
        else:
            yield from opened


@contextmanager
def _opened(path: Path, form: FileFormat) -> Iterator[Any]:
    import pyarrow as pa

    with form.open_bytes(path) as file:
        try:
            magic = file.read(len(FILE))
            file.seek(0)
            yield (pa.ipc.open_file if magic == FILE else pa.ipc.open_stream)(file)
        except (pa.ArrowException, ValueError) as error:
            raise UserError(
                f"{path}: is not a valid Arrow file (truncated?): {first_line(error)}", "Write or download it again"
            ) from error


FORMAT = Format(name="arrow", title="Arrow", text=False, compressed=True, cells="lists", sniff=sniff, read=read)
