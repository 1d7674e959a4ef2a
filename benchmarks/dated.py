"""Files of measurements: one for each date, to be compared with later ones, or one that is measured part by part."""

import argparse
import json
from pathlib import Path
from typing import Any

import machine


def out_parser(about: str | None, *, required: bool = True) -> argparse.ArgumentParser:
    """A parser of a benchmark's command line that knows `--out`."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=required, help="JSON file to write")
    return parser


def write_json(out: Path | None, found: dict[str, Any]) -> None:
    """Writes what was measured, if there is a place for it."""
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def add_to(out: Path | None, about: str, found: dict[str, Any]) -> None:
    """Adds a measurement with its `date` to the file, if one is named; one of the same day is replaced."""
    if out is None:
        return
    earlier = json.loads(out.read_text(encoding="utf-8"))["measured"] if out.is_file() else []
    kept = [each for each in earlier if each["date"][:10] != found["date"][:10]]
    write_json(out, {"about": about, "measured": [*kept, found]})


def resumed(out: Path, about: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What an earlier command measured with these settings, with its `runs`; else nothing yet.

    Raises SystemExit for a file with others.
    """
    if out.is_file():
        result: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        if result["settings"] == settings:
            return result
        raise SystemExit(f"{out} was measured with {result['settings']}: give another --out, or remove it")
    return {"about": about, **machine.facts(), "settings": settings, "runs": []}
