"""The parts of the harness, each a minute or two at full scale."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from slow.chaos import errors, kills
from slow.chaos.places import Lab
from slow.chaos.scenarios import TRAINING, WRITING
from slow.chaos.trial import Tally

SHARDS = 2


@dataclass(frozen=True, kw_only=True)
class Part:
    """A name, what it does, and whether it must run alone, since it measures."""

    name: str
    body: Callable[[Lab], Tally]
    alone: bool = False


def parts() -> dict[str, Part]:
    """Every part by name, in the order in which they begin."""
    return {part.name: part for part in _parts()}


def _parts() -> Iterator[Part]:
    for scenario in (*TRAINING, *WRITING):
        name = scenario.name
        yield Part(name=f"random kills: {name}", body=lambda lab, name=name: kills.at_random(lab, name))
        yield Part(name=f"signals: {name}", body=lambda lab, name=name: kills.by_signals(lab, name))
        for shard in range(SHARDS):
            at = f"{shard + 1} of {SHARDS}"
            yield Part(
                name=f"kills at writes: {name}, {at}",
                body=lambda lab, name=name, shard=shard: kills.at_every_write(lab, name, shard, SHARDS),
            )
            yield Part(
                name=f"errors at writes: {name}, {at}",
                body=lambda lab, name=name, shard=shard: errors.at_every_write(lab, name, shard, SHARDS),
            )
