"""Runs parts of the harness, a kind of fault in a scenario each, and writes the record that the documents show."""

import json
import os
import platform
import random
import shutil
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from slow.chaos.faults import KINDS, Lab
from slow.chaos.scenarios import Failed

from finetune.data.atomic import write_atomically
from finetune.runs import process


@dataclass(kw_only=True)
class Tally:
    """The trials of a part: how many were tried and survived, the seconds, and what failed: (trial, lost, detail)."""

    kind: str
    scenario: str
    tried: int = 0
    survived: int = 0
    seconds: float = 0.0
    failures: list[tuple[str, str, str]] = field(default_factory=list)


def run_part(kind: str, scenario: str, *, share: float, seed: int, folder: Path) -> dict[str, Any]:
    """The tally of a share of a part's trials, at random and at least one. Folders of what failed are kept."""
    tally, lab, started = Tally(kind=kind, scenario=scenario), _lab(folder), time.monotonic()
    lab.draw = random.Random(f"{seed}/{kind}/{scenario}")
    trials = list(KINDS[kind](lab, scenario))
    for what, body in lab.draw.sample(trials, max(1, round(share * len(trials)))):
        place = lab.copy(lab.undisturbed(scenario)[0])
        tally.tried += 1
        try:
            body(place)
        except Exception as error:
            lost, detail = (error.lost, error.detail) if isinstance(error, Failed) else ("?", traceback.format_exc())
            tally.failures.append((f"{kind}, {scenario}, {what}: {place}", lost, detail))
        else:
            tally.survived += 1
            shutil.rmtree(place)
    tally.seconds = time.monotonic() - started
    return asdict(tally)


@cache
def _lab(folder: Path) -> Lab:
    """One for a process, whose scenarios are prepared once."""
    return Lab(folder=folder / f"worker-{os.getpid()}", draw=random.Random(0))


def write_record(out: Path, tallies: Sequence[Tally], *, seed: int, share: float, parts: int) -> None:
    """What was tried, survived and lost by kind of fault, and where it was measured; `parts` is how many there are."""
    kinds = [_kind(kind, [tally for tally in tallies if tally.kind == kind]) for kind in KINDS]
    kinds = [kind for kind in kinds if kind["tried"]]
    kills = sum(kind["tried"] for kind in kinds if kind["kind"].startswith("SIG"))
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": process.git_commit(),
        "versions": process.versions(),
        "machine": {"system": platform.platform(), "cores": os.cpu_count(), "cpu": process.cpu_name()},
        "seed": seed,
        "share": share,
        "parts": [len(tallies), parts],
        "seconds": round(sum(tally.seconds for tally in tallies) / (os.cpu_count() or 1)),
        "kills": kills,
        "faults": sum(kind["tried"] for kind in kinds) - kills,
        "kinds": kinds,
    }
    write_atomically(out, json.dumps(facts, indent=1) + "\n")


def _kind(kind: str, tallies: Sequence[Tally]) -> dict[str, Any]:
    failures = [failure for tally in tallies for failure in tally.failures]
    return {
        "kind": kind,
        "tried": sum(tally.tried for tally in tallies),
        "survived": sum(tally.survived for tally in tallies),
        "lost": sorted({lost for _, lost, _ in failures}),
        "seconds": round(sum(tally.seconds for tally in tallies), 1),
        "failures": [f"{what}: {detail[:300]}" for what, _, detail in failures],
    }
