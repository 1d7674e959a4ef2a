"""Runs the parts on several processes, and keeps what is finished, so that a stopped harness resumes."""

import json
import multiprocessing
import random
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from slow.chaos.parts import Part, parts
from slow.chaos.places import Lab, Skipped
from slow.chaos.trial import Failure, Tally


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What decides the trials, and the folder in which they are made."""

    seed: int
    scale: float
    folder: Path

    @property
    def key(self) -> str:
        """Parts with another key are not the same trials."""
        return f"{self.seed}/{self.scale}"


def run_parts(
    plan: Plan,
    chosen: Sequence[Part],
    *,
    work: Path,
    cores: int,
    tell: Callable[[str], None],
    keep: Callable[[Sequence[Tally]], None],
) -> list[Tally]:
    """The tallies of all parts; those in the working file that did not fail are not run again.

    `keep` receives those so far after each part.
    """
    done = _finished(plan, work)
    tallies = [done[part.name] for part in chosen if part.name in done]
    missing = [part for part in chosen if part.name not in done]
    if tallies:
        tell(f"{len(tallies)} of {len(chosen)} parts are finished: {work}")
    started, ended = time.monotonic(), 0
    for alone in (True, False):
        names = [part.name for part in missing if part.alone == alone]
        workers = 1 if alone else cores
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool, _ended_with_us():
            running = {pool.submit(run_part, name, plan): name for name in names}
            for future in as_completed(running):
                name, tally = running[future], Tally(**future.result())
                tally.failures = [Failure(**each) for each in tally.failures]
                tallies.append(tally)
                ended += 1
                with work.open("a") as opened:
                    opened.write(json.dumps({"key": plan.key, "part": name, "tally": asdict(tally)}) + "\n")
                keep(tallies)
                left = (time.monotonic() - started) / ended * (len(missing) - ended)
                tell(f"{_words(name, tally)}  [{ended} of {len(missing)} parts, {left / 60:.0f} min left]")
    return tallies


@contextmanager
def _ended_with_us() -> Iterator[None]:
    """Kills the workers if this process is stopped: a pool waits for what they do, minutes."""
    try:
        yield
    except BaseException:
        for worker in multiprocessing.active_children():
            worker.kill()
        raise


def run_part(name: str, plan: Plan) -> dict[str, Any]:
    """One part in this process, as JSON; whatever it raises is a failure."""
    lab, started = _lab(plan.folder), time.monotonic()
    lab = replace(lab, random=random.Random(f"{plan.seed}/{name}"), scale=plan.scale)
    try:
        tally = parts()[name].body(lab)
    except Skipped as reason:
        tally = Tally(kind=name, skipped=str(reason))
    except Exception as error:
        failure = Failure(tried=name, lost="?", detail=f"{error!r}\n{traceback.format_exc()}", kept="")
        tally = Tally(kind=name, tried=1, failures=[failure])
    return asdict(replace(tally, seconds=time.monotonic() - started))


@cache
def _lab(folder: Path) -> Lab:
    """One for a process, whose scenarios are prepared once."""
    return Lab(folder=folder / f"worker-{multiprocessing.current_process().pid}", random=random.Random(0))


def _finished(plan: Plan, work: Path) -> dict[str, Tally]:
    lines = [json.loads(line) for line in work.read_text().splitlines()] if work.is_file() else []
    return {
        line["part"]: Tally(**line["tally"])
        for line in lines
        if line["key"] == plan.key and not line["tally"]["failures"]
    }


def _words(name: str, tally: Tally) -> str:
    if tally.skipped:
        return f"{name}: skipped, {tally.skipped}"
    lines = [f"{name}: {tally.tried} tried, {tally.survived} survived, {tally.seconds:.0f} s"]
    lines += [f"  FAILED {each.tried}: lost {each.lost}; kept in {each.kept}" for each in tally.failures]
    return "\n".join(lines)
