"""Recipes, records, data files and model folders by the thousand, each damaged or made up at random."""

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from slow.chaos.commands import call, finetune
from slow.chaos.outcome import Failed
from slow.chaos.places import Lab, require_ended
from slow.chaos.scenarios import SCENARIOS
from slow.chaos.trial import Tally

if TYPE_CHECKING:
    from support.fuzzing import Fuzzed

NAME = "sentence"  # whose model is used, and damaged
COUNTS = {"recipes": 10_000, "records": 500, "data files": 2_000, "model folders": 500}
SHARDS = {"recipes": 4, "records": 1, "data files": 4, "model folders": 2}


def fuzz(lab: Lab, what: str) -> Tally:
    """A part of the inputs of one kind; each ends in an answer or in one line, within bounds of time and memory."""
    usual, tally = lab.undisturbed(NAME), Tally(kind=f"fuzzed {what}")
    count = lab.count(COUNTS[what] // SHARDS[what])
    seed = lab.random.randrange(1 << 30)

    def body(place: Path) -> None:
        require_ended(finetune(place, *SCENARIOS[NAME].command), 0)
        call(_fuzzed, place, what, count, seed)
        if faults := json.loads((place / "faults.json").read_text()):
            raise Failed("one line of error", f"{len(faults)} faults of seed {seed}: {faults[:3]}")

    tally.trial(lab, usual.template, f"{count} {what} of seed {seed}", body, faults=count)
    return tally


def _fuzzed(place: Path, what: str, count: int, seed: int) -> None:
    """In a forked child: writes the faults that were found. Some fuzzers raise AssertionError for the first."""
    folder = place / "fuzz"
    folder.mkdir()
    try:
        faults = FUZZERS[what](count, seed, folder, place).faults
    except Exception:
        faults = [traceback.format_exc()]
    (place / "faults.json").write_text(json.dumps(faults))


def _recipes(count: int, seed: int, folder: Path, place: Path) -> "Fuzzed":
    from support.hostile.recipes import fuzz_recipes

    return fuzz_recipes(count, seed, folder)


def _records(count: int, seed: int, folder: Path, place: Path) -> "Fuzzed":
    from support.hostile.records import fuzz_records, write_runs

    write_runs(folder)
    return fuzz_records(count, seed, folder)


def _data_files(count: int, seed: int, folder: Path, place: Path) -> "Fuzzed":
    from support.fuzzed_files import fuzz_data_files

    from finetune.inference.predictor import load_predictor

    (run,) = (file.parent for file in place.glob("results/*/*/record.json"))
    return fuzz_data_files(count, seed, folder=folder, model=place / "encoder", predictor=load_predictor(run))


def _model_folders(count: int, seed: int, folder: Path, place: Path) -> "Fuzzed":
    from support.fuzzed_folders import fuzz_model_folders

    (model,) = place.glob("results/*/*/model")
    return fuzz_model_folders(count, seed, folder=folder, encoder=place / "encoder", model=model)


FUZZERS: dict[str, Callable[[int, int, Path, Path], "Fuzzed"]] = {
    "recipes": _recipes, "records": _records, "data files": _data_files, "model folders": _model_folders,
}  # fmt: skip
