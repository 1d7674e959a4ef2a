"""Records with wrong, missing and renamed values, and all that reads them."""

import copy
import io
import json
import random
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from finetune.analysis.run_tables import record_parts, summary_lines, summary_table
from finetune.analysis.table import Line
from finetune.cli.console import Terminal
from finetune.cli.next_commands import GivenOptions
from finetune.cli.printing import TerminalFront
from finetune.cli.terminal import printable
from finetune.commands.compare import compare
from finetune.commands.ls import runs_table
from finetune.commands.report.content import read_runs
from finetune.commands.report.page import render_report
from finetune.commands.table import ResultTable
from finetune.commands.table.declaration import load_table
from finetune.commands.table.lines import lines_of
from finetune.errors import UserError
from finetune.runs.lookup import find_run, runs_of
from finetune.runs.recipe import Recipe, Train
from finetune.runs.record_files import DamagedRecord, all_records, load_record
from finetune.task_types import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from support.fuzzing import Fuzzed, damaged
from support.hostile.values import TEXTS, value
from support.records import BASE, save_run

MOST_MEMORY = 300_000_000  # bytes that all of them may add


def paths(found: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value of a JSON document."""
    pairs = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, inner in pairs:
        yield (*before, key)
        yield from paths(inner, (*before, key))


def mutated(draw: random.Random, record: dict[str, Any], fuzzed: Fuzzed) -> bytes:
    """A record with wrong values, missing or renamed keys, damaged bytes or deep nesting."""
    kind = draw.randrange(10)
    whole = json.dumps(record).encode()
    if kind == 0:
        return damaged(whole, draw, fuzzed)
    if kind == 1:
        deep = draw.choice((b"[", b'{"a":'))
        return whole.replace(b'"recipe":', b'"recipe":' + deep * draw.choice((100, 190, 300, 100_000)), 1)
    changed = copy.deepcopy(record)
    for _ in range(draw.choice((1, 1, 2, 3))):
        *parents, last = draw.choice(list(paths(changed)))
        inner = changed
        for parent in parents:
            inner = inner[parent]
        if kind < 4:
            del inner[last]
        elif kind == 4 and isinstance(inner, dict):
            inner[draw.choice(TEXTS)] = inner.pop(last)
        else:
            inner[last] = value(draw)
        if not changed:
            break
    return json.dumps(changed).encode("utf-8", "surrogatepass")


def write_runs(out: Path) -> None:
    """Four finished runs of MRPC that were never made, three of which differ in their seeds only."""
    rows = [SentenceRow(id=str(i), text=f"the cat {i}", pair=f"a dog {i}", gold=str(i % 2)) for i in range(12)]
    for seed in range(4):
        answers = [Answer(value=str((i + (i == seed)) % 2), probabilities=[0.5, 0.5]) for i in range(12)]
        recipe = Recipe(task="mrpc", seed=seed, train=Train(epochs=2 if seed else 1)).model_dump(exclude={"grid"})
        epochs = [{"epoch": 1, "loss": 0.5, "headline": 0.5, "scores": {"dev": {"accuracy": 0.5, "f1": 0.5}}}]
        run = save_run(
            out, find("mrpc"), rows, answers, baselines={"majority": answers}, recipe=recipe, epochs=epochs, model=BASE
        )
        log = [{"event": "training", "done": 0}, {"event": "updates", "update": 2, "losses": [0.7, 0.6]}]
        (run / "events.jsonl").write_text("\n".join(map(json.dumps, log)))


def fuzz_records(count: int, seed: int, out: Path, *, reports: int = 20) -> Fuzzed:
    """Changes the record of the first of the runs in a results folder so many times, and reads it in every way.

    The other runs must be found, listed and summarised each time; every `reports`-th is written as a report too.
    """
    draw, fuzzed = random.Random(seed), Fuzzed()
    file, *others = sorted(out.glob("*/*/record.json"))
    whole = file.read_bytes()
    facts = json.loads(whole)
    with fuzzed.within(MOST_MEMORY):
        for number in range(count):
            file.write_bytes(mutated(draw, facts, fuzzed))
            draws_report = number % reports == 0
            fuzzed.add(
                repr(file.read_bytes()[:3_000]),
                lambda: use_all(out, file, others, draws_report),  # noqa: B023
            )
    file.write_bytes(whole)
    return fuzzed


def use_all(out: Path, file: Path, others: list[Path], draws_report: bool) -> None:
    """What `ls`, `show`, `table`, `compare`, `report` and `predict` do with the records of a folder."""
    task = file.parent.parent.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecord)
        console = Terminal()
        console.file = io.StringIO()
        front = TerminalFront(given=GivenOptions(), quiet=False)
        front.print([runs_table(all_records(out))], console)
        records = all_records(out)
        assert len(records) >= len(others)
        front.print([summary_table(records), *map(Line, summary_lines(records))], console)
        for name in ("glue", "stability"):
            table = load_table(name)
            form = ResultTable(name=name, table=table, lines=lines_of(table, records)).form("runs")
            if draws_report:
                front.print([form], console)
            assert form.markdown("") and form.csv
        found = runs_of(task, out)
        assert len(found) >= len([other for other in others if other.parent.parent.name == task])
        assert printable(console.file.getvalue()) == console.file.getvalue()
        folder = find_run(str(file.parent), out)
        assert folder is not None
        record = load_record(file)  # a command that names this very run: UserError, or all of what follows
        front.print(record_parts(record), console)
        if draws_report:
            assert render_report(read_runs([str(folder.path), task], out))
            with suppress(UserError):
                compare(str(folder.path), str(others[0].parent), out=out, seeds=True)
