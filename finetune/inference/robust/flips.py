"""What was found about changed rows: the predictions that flip, by kind of change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.rows import Row
from finetune.inference.robust.kinds import Edit, Kind
from finetune.metrics.row_means import wilson

COLUMNS = ("change", "rows", "flipped", "%", "95 % interval")


@dataclass(frozen=True, kw_only=True)
class ChangedRow:
    """A row with a change in one of its texts, `name`, and there the place that was changed."""

    row: Row
    changed: Row
    name: str
    text: str
    edit: Edit


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A changed row whose prediction is another than before."""

    where: ChangedRow
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True)
class KindFlips:
    """Of so many rows that a kind of change can be made in, those that flip."""

    kind: Kind
    rows: int
    flips: Sequence[Flip]

    @property
    def share(self) -> float:
        """Of the rows, 0 to 1."""
        return len(self.flips) / self.rows

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        return wilson(len(self.flips), of=self.rows)


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """The flips of each kind that any row of a split can be changed by."""

    split: str
    kinds: Sequence[KindFlips]

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """Cells for a table: kind, rows, flips, share and its interval in percent."""
        return [
            (
                f"{one.kind.name}: {one.kind.what}", f"{one.rows:,}", f"{len(one.flips):,}", f"{100 * one.share:.1f}",
                "–".join(f"{100 * end:.1f}" for end in one.interval),
            )
            for one in self.kinds
        ]  # fmt: skip
