"""An export before the work, which may be written where, and after it, what `finetune.export` returns. No torch."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from finetune.data.atomic import require_no_link
from finetune.data.checksums import ABOUT, CHECKSUMS
from finetune.data.messages import first_of, so_many
from finetune.data.paths import exists, is_folder, require_place
from finetune.errors import UserError
from finetune.inference.export_facts import ExportFacts, is_export
from finetune.runs.folder import EXPORT

TOLERANCE, MOST_TOLERANCE = 0.5, 100  # points of the headline that int8 may lose
MAKES_GRAPHS = ("onnx", "onnxruntime", "onnxscript")  # packages of the extra `export`


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
        facts: What its export.json says: the graph, its run, and the check.
        size: The bytes of its graph.
        changed: The rows that it answers differently than the run.
        notes: What to take into account.
    """

    folder: Path
    facts: ExportFacts
    size: int
    changed: Sequence[ChangedAnswer]
    notes: Sequence[str]

    def __repr__(self) -> str:
        check = self.facts.check
        equal = f"{check.equal:,} of {so_many(check.rows)} answered alike" if check else "not checked"
        return f"<Export {self.folder}: {self.facts.engine} {self.facts.precision}, {equal}>"

    def as_json(self) -> dict[str, Any]:
        """The export as JSON values."""
        return asdict(self) | {"folder": str(self.folder)}


def require_export(folder: Path, *, int8: bool, tolerance: float, force: bool) -> None:
    """Raises UserError for settings that do not fit, packages that are not installed, and a folder that may not be
    written.
    """
    if not int8 and tolerance != TOLERANCE:
        raise UserError("`tolerance` is of int8 weights", "Give `int8` too, or leave it out")
    if not 0 <= tolerance <= MOST_TOLERANCE:
        raise UserError(f"`tolerance` is {tolerance}", f"Give a number of points, 0 to {MOST_TOLERANCE}")
    for package in MAKES_GRAPHS:
        if find_spec(package) is None:
            what = f"an export needs a package that is not installed ({package})"
            raise UserError(what, "Install it: pip install 'bert-finetune[export]'")
    require_new_folder(folder, force=force)


def require_new_folder(folder: Path, *, force: bool) -> None:
    """Raises UserError where a folder cannot be written, or is there; with `force` where it is not an export."""
    require_no_link(folder)
    require_place(folder.absolute() / EXPORT if is_folder(folder) else folder)
    if not exists(folder) or (is_folder(folder) and not any(folder.iterdir())):
        return
    if not is_export(folder):
        raise UserError(f"{folder}: is there, and not an export", "Name another folder")
    if not force:
        raise UserError(f"{folder}: is an export already", "Name another folder, or replace it with `force`")
    own = {CHECKSUMS, EXPORT, ABOUT}
    with suppress(OSError, ValueError, TypeError):  # where the checksums are damaged, nothing else is known to be its
        own.update(json.loads((folder / CHECKSUMS).read_text(encoding="utf-8")))
    if others := sorted({file.name for file in folder.iterdir()} - own):
        raise UserError(f"{folder}: has {first_of(others, 3)} too, which would be deleted", "Name another folder")
