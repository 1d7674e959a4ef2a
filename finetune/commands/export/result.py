"""What an export returns: its folder, its facts, and what differed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from finetune.data.messages import so_many
from finetune.inference.exported.export_facts import ExportFacts


@dataclass(frozen=True, kw_only=True)
class ChangedAnswer:
    """A row that the run and its export answer differently."""

    id: str
    text: str
    run: Any
    export: Any


@dataclass(frozen=True, kw_only=True)
class Export:
    """What `finetune.export` returns.

    Example: `finetune.load(finetune.export(run, "exported").folder)("the cat sat")`

    Attributes:
        folder: The folder, which is a model name like any other.
        facts: What its export.json says: engine, precision, machine, and the check.
        size: The bytes of its graph.
        size_before: The bytes of the run's weights.
        changed: The rows that it answers differently than the run.
        notes: What to take into account.
    """

    folder: Path
    facts: ExportFacts
    size: int
    size_before: int
    changed: Sequence[ChangedAnswer]
    notes: Sequence[str]

    def __repr__(self) -> str:
        check = self.facts.check
        equal = f"{check.equal:,} of {so_many(check.rows)} answered alike" if check else "not checked"
        return f"<Export {self.folder}: {self.facts.engine} {self.facts.precision}, {equal}>"

    def as_json(self) -> dict[str, Any]:
        """The export as JSON values."""
        return {
            "folder": str(self.folder),
            "size": self.size,
            "size_before": self.size_before,
            "facts": asdict(self.facts),
            "changed": [asdict(one) for one in self.changed],
            "notes": list(self.notes),
        }
