"""Measurements that are kept to be compared with later ones: a file with one for each date, the latest last."""

import json
from pathlib import Path
from typing import Any


def add_to(out: Path, about: str, found: dict[str, Any]) -> None:
    """Adds a measurement with its `date` to the file; one of the same day is replaced."""
    earlier = json.loads(out.read_text(encoding="utf-8"))["measured"] if out.is_file() else []
    kept = [each for each in earlier if each["date"][:10] != found["date"][:10]]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"about": about, "measured": [*kept, found]}, indent=1) + "\n", encoding="utf-8")
