"""KnownExport: an export of a run as its card tells of it, read from the export's `export.json`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.errors import UserError

FILE = "export.json"


@dataclass(frozen=True, kw_only=True)
class KnownExport:
    """The folder of an export, and the facts that it was written with."""

    folder: Path
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder, also in a repository."""
        return self.folder.resolve().name

    @property
    def precision(self) -> str:
        """`fp32`, or `int8` with how it was made."""
        words = [self.facts.get(key) for key in ("precision", "method")]
        bits = self.facts.get("bits")
        return " ".join([*(str(word) for word in words if word), *([f"{bits} bits"] if bits else [])])

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(file.stat().st_size for file in self.folder.iterdir() if file.is_file())

    @property
    def check(self) -> Mapping[str, Any]:
        """How its answers compare with those of the run; empty where that is not known."""
        found = self.facts.get("check")
        return found if isinstance(found, dict) else {}


def known_export(folder: Path, run: str) -> KnownExport:
    """The export of a run in a folder. Raises UserError where there is none, or of another run."""
    try:
        facts = json.loads((folder / FILE).read_text(encoding="utf-8"))
        source = facts["source"]["run"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise UserError(f"{folder}: is not an export", f"Write one: finetune export {run} -o {folder}") from error
    if source != run:
        raise UserError(f"{folder}: is an export of run {source}, not of {run}", f"Name one of {run}, or its run")
    return KnownExport(folder=folder, facts=facts)
