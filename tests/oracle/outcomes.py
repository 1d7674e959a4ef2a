"""What the tool made of every written layout, found once for all tests and their workers."""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock

from .folders import layouts
from .layout import Layout, Outcome, outcome


def named(layout: Layout) -> str:
    """A layout as tests name it."""
    return f"{layout.kind}: {layout.name}"


def outcomes_in(shared: Path) -> dict[str, Outcome]:
    """Those of every layout by name, which the first who asks leaves in this folder."""
    kept = shared / "layouts.json"
    with FileLock(shared / "layouts.lock"):
        if not kept.exists():
            kept.write_text(json.dumps({name: asdict(found) for name, found in _found().items()}), encoding="utf-8")
    return {name: Outcome(**facts) for name, facts in json.loads(kept.read_text(encoding="utf-8")).items()}


def _found() -> dict[str, Outcome]:
    found = {}
    for layout in layouts():
        with tempfile.TemporaryDirectory(prefix="layout-") as folder:
            found[named(layout)] = outcome(layout, Path(folder))
    return found
