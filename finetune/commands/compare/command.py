"""`finetune compare`: runs, or groups of seeds, on the same rows."""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.analysis.compare import Changed, Comparison
from finetune.api.run import open_run
from finetune.cli.arguments import RESULTS, Json, Out, TaskOf
from finetune.cli.console import as_plain_text, standard_output
from finetune.cli.next_commands import GivenOptions, results_of
from finetune.cli.options import note_line
from finetune.cli.tables import FittedTable, fitted_table
from finetune.cli.terminal import echo, one_line
from finetune.commands.compare.api import compare
from finetune.data.messages import so_many
from finetune.task_types.saved_predictions import labelled_table
from finetune.task_types.types import own_types

NOT_TEXT = ("id", "gold", "answers", "start", "title", "document")  # of a row's fields


def compare_command(
    a: Annotated[str, typer.Argument(help="A run: folder, id, or its task.")],
    b: Annotated[str, typer.Argument(help="Another of the same task.")],
    others: Annotated[list[str] | None, typer.Argument(help="More of them: each is compared with the first.")] = None,
    seeds: Annotated[bool, typer.Option("--seeds", help="Use all runs that differ from each only in seeds.")] = False,
    split: Annotated[str | None, typer.Option(help="Default: the task's first dev split.")] = None,
    changed: Annotated[int, typer.Option(min=0, help="Show N rows that only one side has right.")] = 5,
    task: TaskOf = None,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Prints the difference in each metric, and of two sides some rows that only one side has right."""
    given = (a, b, *(others or ()))
    compared = compare(a, b, *(others or ()), out=out, split=split, seeds=seeds, task=task)
    pairs = [compared] if isinstance(compared, Comparison) else compared
    if as_json:
        facts = [pair.as_json() for pair in pairs]
        echo(json.dumps(facts if others else facts[0], default=str))
        return
    console = standard_output()
    for pair in pairs:
        title = one_line(f"{pair.task}, {pair.counted} of {pair.split}; {pair.sides}")
        notes = [pair.tests] * (pair is pairs[-1])
        console.print(fitted_table(title, pair.columns, pair.cells, right=pair.columns[1:], notes=notes))
    for note in dict.fromkeys(note for pair in pairs for note in pair.notes):
        console.print_line(note_line(note))
    if not others and changed and pairs[0].changed:
        console.print(_changed_table(pairs[0], changed))
    kept = GivenOptions(out=results_of(a, out))
    options = [*(["--split", split] if split else []), *(["--task", task] if task else [])]
    with_seeds = [kept.command("compare", *given, "--seeds", *options)] * (not seeds and _has_seeds(given, out))
    sides = [pairs[0].a, *(pair.b for pair in pairs)]
    console.print_next(kept.command("report", *chain.from_iterable(sides)), *with_seeds)


def _has_seeds(given: Sequence[str], out: Path) -> bool:
    """Whether there are other seeds of one of the runs, which all differ in more than those."""
    sides = [{run.id for run in open_run(name, seeds=True, out=out).runs} for name in given]
    return len(set().union(*sides)) == sum(map(len, sides)) > len(given)


def _changed_table(found: Comparison, most: int) -> FittedTable:
    """Some of the rows that only one side has right."""
    a, b = (sum(change.better == side for change in found.changed) for side in "ab")
    first = " (of each side's first run)" if len(found.a) > 1 or len(found.b) > 1 else ""
    title = one_line(f"{so_many(a)} that only A has right, {b:,} that only B has right{first}")
    rows = [
        (str(change.row["id"]), *map(as_plain_text, _changed_cells(change, found.shape)))
        for change in found.changed[:most]
    ]
    words = ["text", "label", "A", "B"]
    return fitted_table(title, ["id", *words], rows, words=words, ruled=True)


def _changed_cells(change: Changed, shape: str) -> list[Any]:
    """The row's texts, its label, and both predictions; `shape` is the name of the task's type."""
    row = {name: list(value) if isinstance(value, tuple) else value for name, value in change.row.items()}
    line = row | {"gold": change.gold, "prediction": change.a}
    table = labelled_table(own_types().get(shape), [line, line | {"prediction": change.b}])
    fields, listed = change.row, [change.gold, change.a, change.b]
    if table is not None:
        fields = table.fields(0)
        listed = [table.listed(0, "gold"), table.listed(0, "prediction"), table.listed(1, "prediction")]
    return [[value for name, value in fields.items() if name not in NOT_TEXT and value], *listed]
