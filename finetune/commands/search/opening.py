"""The file of a search: what run folders cannot tell. `<out>/<task>/search-<hash>.json`.

It has the settings that were known before the search began, so that a repeated search asks in the same order, the
runs that were pruned or diverged, which have no record, and the scores on held-out rows.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from finetune.data.atomic import write_atomically
from finetune.data.paths import read_small
from finetune.errors import UserError
from finetune.runs.folder import folder_name

MOST_BYTES = 16_000_000


@dataclass(kw_only=True)
class SearchState:
    """Settings with finished runs and with unfinished ones when the search began, in order; the ids of pruned
    runs; the reason for which a run diverged, and its scores on held-out rows, by run id.
    """

    file: Path
    finished: list[dict[str, Any]] = field(default_factory=list)
    unfinished: list[dict[str, Any]] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)
    diverged: dict[str, str] = field(default_factory=dict)
    held_out: dict[str, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, out: Path, task: str, decides: Mapping[str, Any]) -> "SearchState":
        """The file of a search that these facts decide, read if it is there."""
        digest = hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()
        opening = cls(file=out / folder_name(task) / f"search-{digest[:10]}.json")
        if opening.exists:
            opening._read()
        return opening

    def pruned_by_any(self) -> set[str]:
        """The ids of runs that any search of the task pruned, and left unfinished on purpose."""
        others = [SearchState(file=file) for file in self.file.parent.glob("search-*.json")]
        for other in others:
            other._read()
        return {run for other in others for run in other.pruned}

    @property
    def exists(self) -> bool:
        """Whether the search began before."""
        return self.file.is_file()

    def write(self) -> None:
        """Writes the file. Raises UserError where it cannot be written."""
        facts = {key: value for key, value in vars(self).items() if key != "file"}
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.file, json.dumps(facts, indent=1) + "\n")
        except OSError as error:
            raise UserError(
                f"{self.file}: cannot be written ({error.strerror})", "Choose another folder with `out`"
            ) from error

    def _read(self) -> None:
        try:
            found = json.loads(read_small(self.file, most=MOST_BYTES))
            for name, kind in (
                ("finished", list),
                ("unfinished", list),
                ("pruned", list),
                ("diverged", dict),
                ("held_out", dict),
            ):
                if not isinstance(found[name], kind):
                    raise ValueError(f"{name} is not a {kind.__name__}")
                setattr(self, name, found[name])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(
                f"{self.file}: is not the file of a search ({error})", "Delete it: finished runs are found again"
            ) from None
