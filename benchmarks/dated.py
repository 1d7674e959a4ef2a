"""Files of measurements: one for each date, to be compared with later ones, or one that is measured part by part."""

import json
from pathlib import Path
from typing import Any

import machine


def add_to(out: Path, about: str, found: dict[str, Any]) -> None:
    """Adds a measurement with its `date` to the file; one of the same day is replaced."""
    earlier = json.loads(out.read_text(encoding="utf-8"))["measured"] if out.is_file() else []
    kept = [each for each in earlier if each["date"][:10] != found["date"][:10]]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"about": about, "measured": [*kept, found]}, indent=1) + "\n", encoding="utf-8")


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
