"""What an export is to be, before anything is loaded. Needs no torch."""

import json
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from finetune.data.atomic import require_no_link
from finetune.data.checksums import ABOUT, CHECKSUMS
from finetune.data.messages import first_of
from finetune.data.paths import exists, is_folder, require_place
from finetune.errors import UserError
from finetune.inference.exported.export_facts import is_export
from finetune.inference.exported.this_machine import saturates, this_machine
from finetune.runs.folder import EXPORT

TOLERANCE = 0.5  # points of the headline that int8 may lose
MOST_TOLERANCE = 100  # points
MAKES_GRAPHS = ("onnx", "onnxscript", "onnxruntime")  # packages of the extra `export`


@dataclass(frozen=True, kw_only=True)
class WantedExport:
    """The folder that is written, in place of an export with `force`, and how its weights are kept; `bits` is None for
    fp32.
    """

    folder: Path
    bits: int | None
    tolerance: float
    force: bool


def wanted_export(folder: Path, *, int8: bool, tolerance: float, force: bool) -> WantedExport:
    """Settings that fit together. Raises UserError for others, for packages that are not installed, and for a folder
    that may not be written.
    """
    if not int8 and tolerance != TOLERANCE:
        raise UserError("`tolerance` is of int8 weights", "Give `int8` too, or leave it out")
    if not 0 <= tolerance <= MOST_TOLERANCE:
        raise UserError(f"`tolerance` is {tolerance}", f"Give a number of points, 0 to {MOST_TOLERANCE}")
    _require_packages()
    require_new_folder(folder, force=force)
    bits = (7 if saturates(this_machine()) else 8) if int8 else None
    return WantedExport(folder=folder, bits=bits, tolerance=tolerance, force=force)


def require_new_folder(folder: Path, *, force: bool) -> None:
    """Raises UserError where a folder cannot be written, or is there; with `force` where it is not an export."""
    require_no_link(folder)
    require_place(folder.absolute() / "export.json" if is_folder(folder) else folder)
    if not exists(folder) or (is_folder(folder) and not any(folder.iterdir())):
        return
    if not is_folder(folder):
        raise UserError(f"{folder}: is a file, and a folder is written", "Name another folder")
    if not is_export(folder):
        raise UserError(f"{folder}: is not empty, and not an export", "Name another folder")
    if not force:
        raise UserError(f"{folder}: is an export already", "Name another folder, or replace it with `force`")
    if others := sorted({file.name for file in folder.iterdir()} - _names_of_export(folder)):
        raise UserError(f"{folder}: has {first_of(others, 3)} too, which would be deleted", "Name another folder")


def _names_of_export(folder: Path) -> set[str]:
    """The names of the files that belong to an export; of one whose checksums are damaged, of its settings alone."""
    listed: list[str] = []
    with suppress(OSError, ValueError, TypeError):
        listed = list(json.loads((folder / CHECKSUMS).read_text(encoding="utf-8")))
    return {*listed, CHECKSUMS, EXPORT, ABOUT}


def _require_packages() -> None:
    """Raises UserError that names the extra of the first package that is not installed."""
    for package in MAKES_GRAPHS:
        if find_spec(package) is None:
            raise UserError(
                f"an export needs a package that is not installed ({package})",
                "Install it: pip install 'bert-finetune[export]'",
            )
