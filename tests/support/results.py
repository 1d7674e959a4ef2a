"""What runs leave in a results folder, without what differs from time to time."""

import json
from pathlib import Path
from typing import Any

DIFFERING = {
    "finished",
    "seconds",
    "examples_per_second",
    "peak_memory_bytes",
    "cost",
    "checksum",
    "files",
    "git_commit",
}


def results_of(folder: Path) -> dict[str, Any]:
    """What decides the records of a folder, by run id: all but times, and the checksums of predictions and weights."""
    found = {}
    for file in folder.glob("*/*/record.json"):
        record = json.loads(file.read_text())
        sums = json.loads((file.parent / "model" / "checksums.json").read_text())
        kept = {key: value for key, value in record.items() if key not in DIFFERING}
        found[record["id"]] = kept | {"files": record["files"], "model": sums}
    return found
