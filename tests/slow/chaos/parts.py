"""The parts of the harness, each a minute or two at full scale."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from slow.chaos import at_once, damage, errors, folders, full_disk, fuzz, kills, measure, two_processes
from slow.chaos.places import Lab
from slow.chaos.scenarios import TRAINING, WRITING
from slow.chaos.trial import Tally

SHARDS = 2
AT_EVERY_WRITE = ("sentence",)
SHARE = 0.2  # of the writes of the other scenarios, at random
DAMAGED = ("sentence", "span", "tagging")
INTERRUPTED = ("sentence", "tagging", "best epoch, patience", "--force", "frozen, cold cache")
NEW = ("sentence", "accumulation", "frozen, cold cache", "two seeds")
LONG = ("pre-training",)
FULL = ("sentence", "span", "--force", "two seeds", "pre-training", "predict, CSV", "check --fix", "report")
ON_TWO = ("sentence", "tagging")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A name, what it does, and whether it must run alone, since it measures."""

    name: str
    body: Callable[[Lab], Tally]
    alone: bool = False


def parts() -> dict[str, Part]:
    """Every part by name, in the order in which they begin."""
    return {part.name: part for part in (*_once(), *_of_some(), *_of_each_scenario())}


def _of_each_scenario() -> Iterator[Part]:
    for scenario in (*TRAINING, *WRITING):
        name = scenario.name
        yield Part(name=f"random kills: {name}", body=partial(kills.at_random, name=name))
        yield Part(name=f"signals: {name}", body=partial(kills.by_signals, name=name))
        share = 1.0 if name in AT_EVERY_WRITE else SHARE
        for shard in range(SHARDS):
            sharded = {"name": name, "shard": shard, "shards": SHARDS, "share": share}
            at = f"{name}, {shard + 1} of {SHARDS}"
            yield Part(name=f"kills at writes: {at}", body=partial(kills.at_every_write, **sharded))
            yield Part(name=f"kills inside writes: {at}", body=partial(kills.inside_writes, **sharded))
            yield Part(name=f"errors at writes: {at}", body=partial(errors.at_every_write, **sharded))


def _of_some() -> Iterator[Part]:
    bodies: tuple[tuple[str, Callable[..., Tally], tuple[str, ...]], ...] = (
        ("damaged, finished", damage.of_finished, DAMAGED),
        ("damaged, interrupted", damage.of_interrupted, INTERRUPTED),
        ("full disk", full_disk.sizes, FULL),
        ("random kills, new process", partial(kills.at_random, new=True), NEW),
        ("kills again and again", kills.again_and_again, LONG),
        ("signals, new process", partial(kills.by_signals, new=True), NEW),
        ("torchrun", two_processes.faults, ON_TWO),
    )
    for what, body, names in bodies:
        for name in names:
            yield Part(name=f"{what}: {name}", body=partial(body, name=name))


def _once() -> Iterator[Part]:
    yield Part(name="read-only folder", body=folders.read_only)
    yield Part(name="folder that vanishes", body=folders.vanishing)
    for count in (2, 8):
        yield Part(name=f"{count} at once", body=partial(at_once.equal, count=count))
        yield Part(name=f"{count} at once, one killed", body=partial(at_once.equal, count=count, kills=True))
    yield Part(name="writers", body=at_once.writers)
    for what, shards in fuzz.SHARDS.items():
        for shard in range(shards):
            name = f"fuzzed {what}, {shard + 1} of {shards}"
            yield Part(name=name, body=partial(fuzz.fuzz, what=what))
    yield Part(name="resume time", body=measure.time_to_resume, alone=True)
    yield Part(name="share of checkpoints", body=measure.share_of_checkpoints, alone=True)
