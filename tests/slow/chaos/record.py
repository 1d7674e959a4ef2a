"""The record of a whole run of the harness, which docs/reliability.md shows."""

import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slow.chaos.trial import Tally

from finetune.data.atomic import write_atomically
from finetune.runs import environment


def write_record(
    out: Path, tallies: Sequence[Tally], *, seed: int, scale: float, seconds: float, parts: tuple[int, int]
) -> None:
    """Writes what was tried, survived and lost by kind of fault, the figures, and where it was measured.

    `parts` are those that are finished, of all.
    """
    counted = [tally for tally in tallies if tally.tried]
    kills = sum(tally.tried for tally in counted if tally.kind.startswith("SIG"))
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": environment.git_commit(),
        "versions": environment.versions(),
        "machine": {"system": platform.platform(), "cores": os.cpu_count(), "cpu": environment.cpu_name()},
        "seed": seed,
        "scale": scale,
        "parts": parts,
        "seconds": round(seconds),
        "kills": kills,
        "faults": sum(tally.tried for tally in counted) - kills,
        "kinds": [_kind(kind, counted) for kind in sorted({tally.kind for tally in counted})],
        "skipped": {tally.kind: tally.skipped for tally in tallies if tally.skipped},
        "figures": {
            name: _figure(tallies, name) for name in sorted({name for each in tallies for name in each.figures})
        },
    }
    write_atomically(out, json.dumps(facts, indent=1) + "\n")


def _kind(kind: str, tallies: Iterable[Tally]) -> dict[str, Any]:
    same = [tally for tally in tallies if tally.kind == kind]
    failures = [failure for tally in same for failure in tally.failures]
    return {
        "kind": kind,
        "tried": sum(tally.tried for tally in same),
        "survived": sum(tally.survived for tally in same),
        "lost": sorted({failure.lost for failure in failures}),
        "seconds": round(sum(tally.seconds for tally in same), 1),
        "failures": [f"{failure.tried}: {failure.detail[:300]}" for failure in failures],
    }


def _figure(tallies: Iterable[Tally], name: str) -> dict[str, float]:
    values = [value for tally in tallies for value in tally.figures.get(name, ())]
    return {"mean": statistics.fmean(values), "most": max(values), "count": len(values)}
