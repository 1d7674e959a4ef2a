"""What is compared after faults: every run's model, predictions, losses and scores, to the last bit; and litter."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from finetune.data.checksums import verify
from finetune.errors import UserError
from finetune.runs.folder import RunFolder, read_predictions
from finetune.runs.record_files import load_record

VARYING = {  # facts of a record that differ from run to run, and what is compared by itself
    *("finished", "seconds", "examples_per_second", "peak_memory_bytes", "cost", "git_commit", "files", "checksum"),
    *("data_origin", "baselines"),
}
LITTER = ("checkpoints", "new", ".holder", "*.tmp", ".tmp*", "*.part.jsonl", "*.pt")
Outcome = dict[str, Any]


class Failed(Exception):
    """A promise was not kept; `lost` says in a word or two what the user lost."""

    def __init__(self, lost: str, detail: str) -> None:
        self.lost, self.detail = lost, detail
        super().__init__(f"{lost}: {detail}")


def outcome(results: Path) -> Outcome:
    """Everything that must be equal, of every finished run below a results folder, by task and id."""
    return {f"{folder.path.parent.name}/{folder.path.name}": _run(folder.path) for folder in whole_runs(results)}


def whole_runs(results: Path) -> list[RunFolder]:
    """Every finished run below a results folder. Raises Failed where a file of one is not as its record says."""
    folders = [RunFolder(file.parent) for file in sorted(results.glob("*/*/record.json"))]
    for folder in folders:
        try:
            verify(folder.path, load_record(folder.record_file).files, remedy="")
        except UserError as error:
            raise Failed("a record", str(error)) from error
    return folders


def _run(folder: Path) -> Outcome:
    record = json.loads((folder / "record.json").read_text())
    return {
        "files": sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.name[0] != "."),
        "model": {file.name: _hash(file) for file in sorted((folder / "model").iterdir())},
        "predictions": {file.name: repr(_predictions(file)) for file in folder.glob("predictions-*.parquet")},
        "losses": losses(folder / "events.jsonl"),
        "record": {key: json.dumps(value) for key, value in record.items() if key not in VARYING},
        "recipe": (folder / "recipe.toml").read_text(),
    }


def _predictions(file: Path) -> list[dict[str, Any]]:
    """The predictions of the model; those of scikit-learn's baselines differ in their last digits between processes."""
    return [
        {name: value for name, value in line.items() if not name.startswith("baseline:")}
        for line in read_predictions(file)
    ]


def losses(events: Path) -> dict[str, float]:
    """The loss of each update. An update that was trained again after a kill must have the same."""
    found: dict[str, float] = {}
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if event["event"] != "updates":
            continue
        first = event["update"] - len(event["losses"]) + 1
        for update, loss in enumerate(event["losses"], start=first):
            if found.setdefault(str(update), loss) != loss:
                raise Failed("another number", f"{events}: update {update} has loss {found[str(update)]}, then {loss}")
    return found


def differences(expected: Any, found: Any, where: str = "") -> Iterator[str]:
    """Where two outcomes differ."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in {**expected, **found}:
            if key not in found or key not in expected:
                yield f"{where}/{key} is {'missing' if key not in found else 'too much'}"
            else:
                yield from differences(expected[key], found[key], f"{where}/{key}")
    elif expected != found:
        yield f"{where}: {str(expected)[:200]} became {str(found)[:200]}"


def litter(place: Path) -> list[str]:
    """What a finished command must not leave in its folder; runs that a search pruned keep checkpoints."""
    found = (file for pattern in LITTER for file in place.rglob(pattern))
    return sorted(file.relative_to(place).as_posix() for file in found if not _paused(file))


def _paused(file: Path) -> bool:
    folder = next((parent for parent in file.parents if parent.name == "checkpoints"), file).parent
    return "checkpoints" in file.parts and not (folder / "record.json").is_file()


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
