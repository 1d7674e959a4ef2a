"""`finetune compare`: runs, or groups of seeds, on the same rows."""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.analysis.comparison import Changed, Comparison, Comparisons
from finetune.api.run import open_run
from finetune.cli.arguments import RESULTS, Json, Out, TaskOf
from finetune.cli.console import as_plain_text, standard_output
from finetune.cli.next_commands import GivenOptions, results_of
from finetune.cli.options import note_line
from finetune.cli.tables import CellRow, FittedTable, fitted_table
from finetune.cli.terminal import echo, one_line
from finetune.commands.compare.api import compare as compared
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
    """Prints the difference in each metric, and of two some rows that only one side has right."""
    given = (a, b, *(others or ()))
    found: Comparison | Comparisons
    if others:
        found = compared(a, b, *others, out=out, split=split, seeds=seeds, task=task)
    else:
        found = compared(a, b, out=out, split=split, seeds=seeds, task=task)
    if as_json:
        echo(json.dumps(found.as_json(), default=str))
        return
    console = standard_output()
    console.print(_comparison_table(found) if isinstance(found, Comparison) else _several_table(found))
    for note in found.notes:
        console.print_line(note_line(note))
    if isinstance(found, Comparison) and changed and found.changed:
        console.print(_changed_table(found, changed))
    kept = GivenOptions(out=results_of(a, out))
    options = [*(["--split", split] if split else []), *(["--task", task] if task else [])]
    with_seeds = [kept.command("compare", *given, "--seeds", *options)] * (not seeds and _has_seeds(given, out))
    sides = (found.a, found.b) if isinstance(found, Comparison) else found.runs.values()
    console.print_next(kept.command("report", *chain.from_iterable(sides)), *with_seeds)


def _has_seeds(given: Sequence[str], out: Path) -> bool:
    """Whether there are other seeds of one of the runs, which all differ in more than those."""
    sides = [{run.id for run in open_run(name, seeds=True, out=out).runs} for name in given]
    return len(set().union(*sides)) == sum(map(len, sides)) > len(given)


def _several_table(found: Comparisons) -> FittedTable:
    """For each metric a line for each side."""
    headings, several = found.columns, any(found.settings.values())
    rows: list[CellRow | str] = []
    for title, lines in found.cells:
        rows += [title, *([*line[:2], *[one_line(line[2])] * several, *line[3:]] for line in lines)]
    shown = [*headings[:2], *headings[2:3] * several, *headings[3:]]
    return fitted_table(one_line(found.title), shown, rows, right=headings[3:], notes=[found.tests])


def _comparison_table(found: Comparison) -> FittedTable:
    name, *numbers = found.columns
    notes = [found.tests, *filter(None, [found.pairs])]
    return fitted_table(one_line(found.title), found.columns, found.cells, right=numbers, words=[name], notes=notes)


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
