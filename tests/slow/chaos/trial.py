"""Trials: one fault each; what failed is kept with all that reproduces it."""

import json
import shutil
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from slow.chaos.outcome import Failed
from slow.chaos.places import Lab, Skipped


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A trial that failed: what was tried, what was lost, and where the folder is kept."""

    tried: str
    lost: str
    detail: str
    kept: str


@dataclass(kw_only=True)
class Tally:
    """The trials of a part: faults tried and survived, seconds, failures, why it was skipped, and figures."""

    kind: str
    tried: int = 0
    survived: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    skipped: str = ""
    figures: dict[str, list[float]] = field(default_factory=dict)

    def trial(
        self, lab: Lab, template: Path, what: str, body: Callable[[Path], Any], *, faults: int | list[int] = 1
    ) -> None:
        """Runs a body in a copy of a folder; it raises Failed where a promise was not kept.

        `faults` is their number, or a list to which the body adds each that it makes.
        """
        place = lab.copy(template)
        started = time.monotonic()
        try:
            body(place)
        except Skipped:
            raise
        except Exception as error:
            lost, detail = (error.lost, error.detail) if isinstance(error, Failed) else ("?", traceback.format_exc())
            self._keep(Failure(tried=f"{self.kind}: {what}", lost=lost, detail=detail, kept=""), lab, place)
            self.tried += _number(faults)
        else:
            self.tried += _number(faults)
            self.survived += _number(faults)
        finally:
            self.seconds += time.monotonic() - started
            shutil.rmtree(place, ignore_errors=True)

    def figure(self, name: str, value: float) -> None:
        """Adds a measured value."""
        self.figures.setdefault(name, []).append(value)

    def _keep(self, failure: Failure, lab: Lab, place: Path) -> None:
        kept = lab.folder.parent / "failures" / place.name
        shutil.copytree(place, kept, symlinks=True, dirs_exist_ok=True)
        failure = Failure(**asdict(failure) | {"kept": str(kept)})
        (kept / "failure.json").write_text(json.dumps(asdict(failure), indent=1))
        self.failures.append(failure)


def _number(faults: int | list[int]) -> int:
    return faults if isinstance(faults, int) else len(faults)
