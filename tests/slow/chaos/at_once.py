"""Many commands at once: equal ones train once and show one record; many writers lose no record."""

from pathlib import Path

from slow.chaos.commands import finetune, start
from slow.chaos.outcome import Failed
from slow.chaos.places import Lab, require_ended, require_same
from slow.chaos.scenarios import SCENARIOS, training
from slow.chaos.trial import Tally

NAME = "sentence"
WRITERS = 32


def equal(lab: Lab, count: int, *, kills: bool = False) -> Tally:
    """So many equal commands at once; with `kills`, the one that trains is killed after a while."""
    scenario, usual = SCENARIOS[NAME], lab.undisturbed(NAME)
    tally = Tally(kind=f"equal commands at once{', one killed' * kills}")
    for index in range(lab.count(32 // count)):
        delay = lab.random.uniform(0.1, usual.attempt.seconds)

        def body(place: Path, delay: float = delay) -> None:
            running = [start(place, *scenario.command, "--json") for _ in range(count)]
            if kills:
                running.pop(0).kill_after(delay)
            ended = [one.wait() for one in running]
            for one in ended:
                require_ended(one, 0)
            if len({one.out for one in ended}) != 1:
                raise Failed("one record", "they show several records")
            (events,) = place.glob("results/*/*/events.jsonl")
            if not kills and events.read_text().count('"event": "start"') != 1:
                raise Failed("one training", f"{events}: it was trained several times")
            require_same(scenario, place, usual.outcome)

        tally.trial(lab, usual.template, f"{count} at once, number {index}, {delay:.3f} s", body, faults=count)
    return tally


def writers(lab: Lab) -> Tally:
    """As many runs with different seeds into one results folder, while `ls` and `table` read it."""
    usual, tally = lab.undisturbed("GLUE task"), Tally(kind="writers into one results folder")
    count = max(4, lab.count(WRITERS))

    def body(place: Path) -> None:
        running = [start(place, *training("glue-rte", "train.epochs=1", f"seed={seed}")) for seed in range(count)]
        while not all(one.ended_within(0.0) for one in running):
            require_ended(finetune(place, "ls"), 0)
            require_ended(finetune(place, "table", "glue"), 0)
        for one in running:
            require_ended(one.wait(), 0)
        if (found := len(SCENARIOS["GLUE task"].leaves(place))) != count:
            raise Failed("a record", f"{count} runs left {found} records")

    tally.trial(lab, usual.template, f"{count} writers", body, faults=count)
    return tally
