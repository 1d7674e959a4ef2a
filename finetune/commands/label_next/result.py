"""How many rows of a pool are asked for, and what was chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.messages import so_many
from finetune.errors import UserError, shown_value

if TYPE_CHECKING:
    import pandas as pd

MOST_CHOSEN = 100_000  # rows
RANDOM_SHARE = 0.1
SEED = 0


@dataclass(frozen=True, kw_only=True)
class NextRows:
    """What `finetune.label_next` returns.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Attributes:
        files: What was written; empty where the rows are in memory alone.
        rows: The number of rows in the pool.
        labelled: How many of them the run has read already.
        failed: How many of them cannot be predicted.
        chosen: How many were chosen.
        random: How many of these at random.
        before: How many rows with labels follow the chosen ones.
        settings: The settings with which a run reads the rows once they are labelled.
        exported: Whether a tool must export the rows first; not so of a table.
        notes: What is not as it was asked.
        worth: What so many more labels are worth, where the run's setting has a learning curve; else empty.
        frame: The rows, where no file was named; else None.
    """

    files: Sequence[Path]
    rows: int
    labelled: int
    failed: int
    chosen: int
    random: int
    before: int
    settings: Mapping[str, str]
    exported: bool
    notes: list[str] = field(default_factory=list)
    worth: str = ""
    frame: "pd.DataFrame | None" = field(default=None, repr=False, compare=False)

    def facts(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "files": [str(file) for file in self.files],
            "rows": self.rows,
            "labelled": self.labelled,
            "errors": self.failed,
            "chosen": self.chosen,
            "random": self.random,
            "labelled_rows_written": self.before,
            "settings": dict(self.settings),
            "exported": self.exported,
            "notes": self.notes,
            "worth": self.worth,
        }

    def __repr__(self) -> str:
        where = " and ".join(map(str, self.files)) or "in memory"
        return f"<NextRows, {so_many(self.chosen)} of {self.rows:,}, {self.random:,} at random: {where}>"


@dataclass(frozen=True, kw_only=True)
class AskedRows:
    """How many rows are wanted, the share of them at random, and whether labelled rows are written too."""

    rows: int
    random: float
    new_only: bool
    seed: int = SEED

    @property
    def at_random(self) -> int:
        """The number of rows at random."""
        return round(self.random * self.rows)

    def require_possible(self) -> None:
        """Raises UserError for a number or a share that is out of range."""
        if not 1 <= self.rows <= MOST_CHOSEN:
            raise UserError(f"rows is {shown_value(self.rows)}", f"Give a number from 1 to {MOST_CHOSEN:,}")
        if not 0 <= self.random <= 1:
            raise UserError(f"random is {shown_value(self.random)}", "Give a share from 0 to 1")
