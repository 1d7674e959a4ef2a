"""Row groups of Parquet files, at any address: their sizes, and some of their columns in batches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from finetune.data.addresses import naming, readable
from finetune.data.formats.parquet import require_sizes
from finetune.errors import UserError

BATCH = 65_536  # rows


@dataclass(frozen=True)
class Footer:
    """The columns of a file, and the rows of each of its row groups."""

    columns: tuple[str, ...]
    groups: tuple[int, ...]


def footer(address: str, *, size: int) -> Footer:
    """The footer of a file of `size` bytes. Raises UserError for one that cannot be read."""
    with naming(address), _opened(address) as file:
        require_sizes(address, file.metadata, packed=size)
        columns = tuple(file.schema_arrow.names)
        if twice := next((name for name in columns if columns.count(name) > 1), ""):
            raise UserError(f"{address}: two columns are called '{twice}'", "Rename one")
        return Footer(columns, tuple(file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)))


def schema_of_file(address: str) -> Any:
    """The schema of a file. Raises UserError for one that cannot be read."""
    with naming(address), _opened(address) as file:
        return file.schema_arrow


def batches(
    address: str, groups: Sequence[int] | None = None, columns: Sequence[str] | None = None, *, rows: int = BATCH
) -> Iterator[Any]:
    """The rows of some row groups as pyarrow batches of at most `rows`, with only these columns read.

    Raises UserError where they cannot be read.
    """
    with naming(address), _opened(address) as file:
        yield from file.iter_batches(batch_size=rows, row_groups=groups, columns=columns)


@contextmanager
def _opened(address: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with readable(address) as source, pq.ParquetFile(source) as file:
        yield file
