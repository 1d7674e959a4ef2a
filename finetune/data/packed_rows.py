"""Many rows in a fifth of their memory: compressed, and made into rows again when they are asked for."""

import marshal
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, overload

from finetune.data.rows import Row, is_plain

LEAST_ROWS = 50_000
ROWS_AT_ONCE = 1_000  # rows whose bytes are read together
Values = list[tuple[Any, ...]]


def pack(rows: list[Row], *, least: int | None = None) -> Sequence[Row]:
    """The same rows, packed where there are at least so many (LEAST_ROWS), of one class with texts, numbers and tuples
    of them; `rows` is emptied then.
    """
    if len(rows) < (LEAST_ROWS if least is None else least) or len(set(map(type, rows))) > 1:
        return rows
    names = [field.name for field in fields(rows[0])]
    if not all(is_plain(getattr(row, name)) for row in rows for name in names):
        return rows
    count, kind, blocks = len(rows), type(rows[0]), []
    rows.reverse()
    while rows:
        some = rows[: -ROWS_AT_ONCE - 1 : -1]
        del rows[-ROWS_AT_ONCE:]
        values = marshal.dumps([tuple([getattr(row, name) for name in names]) for row in some])
        blocks.append(zlib.compress(values, level=1))
    return PackedRows(kind, names, blocks, count)


class PackedRows(Sequence[Row]):
    """Rows of a dataclass `kind`; a block has ROWS_AT_ONCE of them."""

    def __init__(self, kind: Any, names: Sequence[str], blocks: Sequence[bytes], size: int) -> None:
        self.kind, self.names, self.blocks, self.size = kind, names, blocks, size
        self.last: tuple[int, Values] = (-1, [])  # the block that was read last

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(f"row {index} of {self.size}")
        block, place = divmod(int(index) % self.size, ROWS_AT_ONCE)
        if self.last[0] != block:
            self.last = block, _values(self.blocks[block])
        return self._row(self.last[1][place])

    def __iter__(self) -> Iterator[Row]:
        return (self._row(values) for block in self.blocks for values in _values(block))

    def _row(self, values: tuple[Any, ...]) -> Row:
        return self.kind(**dict(zip(self.names, values, strict=True)))


def _values(block: bytes) -> Values:
    found: Values = marshal.loads(zlib.decompress(block))
    return found
