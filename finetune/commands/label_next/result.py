"""The rows of a pool that were chosen to be labelled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class NextRows:
    """What `finetune.label_next` returns.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Attributes:
        path: The file that was written; None where the rows are in memory alone.
        rows: The number of rows in the pool.
        known: How many of them the run was trained or scored on.
        failed: How many of them cannot be predicted.
        chosen: How many were chosen.
        random: How many of these at random.
        settings: The settings with which a run reads the rows once they are labelled.
        notes: Rows that are missing, and columns that were inferred.
        frame: The rows, where no file was named; else None.
    """

    path: Path | None
    rows: int
    known: int
    failed: int
    chosen: int
    random: int
    settings: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    frame: "pd.DataFrame | None" = field(default=None, repr=False, compare=False)

    def facts(self) -> dict[str, Any]:
        """JSON values."""
        facts = {name: value for name, value in vars(self).items() if name != "frame"}
        return {**facts, "path": None if self.path is None else str(self.path), "settings": dict(self.settings)}
