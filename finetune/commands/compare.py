"""`finetune compare`: whether runs, or groups of seeds, differ by more than chance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from finetune.analysis.compare import Comparison, compare_runs, compare_several
from finetune.analysis.table import Next, NoteLine, Part, TextTable, as_plain_text
from finetune.api.calls import plainly
from finetune.api.parameters import Cli
from finetune.api.run import Run, open_run
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.folder import RunFolder
from finetune.runs.seeds import groups
from finetune.task_types import registry


@plainly
def compare(
    *runs: Annotated[Run | str | Path, Cli(least=1)],
    seeds: bool = False,
    split: str | None = None,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparison | list[Comparison]:
    """Tests whether two runs of a task differ, on the rows that both predicted; of more, each of the others against
    the first.

    Example: `finetune.compare(run, other)`, `finetune.compare(baseline, one, two)`

    Args:
        *runs: Runs of a task, or their folders, ids or tasks; several seeds, as from `run(seeds=3)`, are one side.
        seeds: For runs that are named: use all that differ from each only in their seeds.
        split: Default: the first dev split.
        task: The task, if it is in a file (`FILE.py:NAME`).
        out: The folder of the runs that are named.

    Returns:
        The comparison; `B - A` is positive where the second is better. Of three or more a list, of each other with the
        first, whose p is adjusted for all tests.

    Raises:
        UserError: For one run alone, runs of different tasks or rows, and without predictions.
    """
    if len(runs) < 2:
        raise UserError("one run is not compared with anything", "Name two runs or more")
    names = [run.folder.name if isinstance(run, Run) else str(run) for run in runs]
    named = None if task is None else registry.find(task)
    opened = [run if isinstance(run, Run) else open_run(run, seeds=seeds, out=out) for run in runs]
    sides = list(map(_folders, opened))
    if len(runs) > 2:
        return compare_several(sides, split=split, task=named, names=names)
    return compare_runs(*sides, split=split, task=named, names=(names[0], names[1]))


def _folders(run: Run) -> Sequence[RunFolder]:
    if (settings := len(groups(run.records))) > 1:
        raise UserError(
            f"one side has runs with {settings} different settings", "Compare two of run.runs, or runs of one setting"
        )
    return [RunFolder(member.folder) for member in run.runs]


def as_json(compared: Comparison | list[Comparison]) -> Iterator[Mapping[str, Any]]:
    """A comparison a line: `a`, `b`: ids of runs; `task`, `split`, `rows`; `differences` by metric: `a`, `b`,
    `difference` (B minus A), its 95 % `interval`, `p`, `rows_needed`; `holm`: p for so many metrics; `mcnemar`;
    `changed` rows; `notes`.
    """
    for pair in _pairs(compared):
        plain = asdict(replace(pair, metrics={}))
        del plain["metrics"]
        for name, difference in pair.differences.items():
            plain["differences"][name]["difference"] = difference.value
        yield plain


def _pairs(compared: Comparison | list[Comparison]) -> list[Comparison]:
    return [compared] if isinstance(compared, Comparison) else compared


def shown(compared: Comparison | list[Comparison], *, changed: Annotated[int, Cli(least=0)] = 5) -> Iterator[Part]:
    """The difference in each metric, and of two sides some rows that only one side has right.

    Args:
        changed: Show N rows that only one side has right.
    """
    pairs = _pairs(compared)
    for pair in pairs:
        title = f"{pair.task}, {pair.counted} of {pair.split}; {pair.sides}"
        notes = [pair.tests] * (pair is pairs[-1])
        yield TextTable(title=title, columns=pair.columns, rows=pair.cells, right=pair.columns[1:], notes=notes)
    yield from map(NoteLine, dict.fromkeys(note for pair in pairs for note in pair.notes))
    first = pairs[0]
    if len(pairs) == 1 and changed and first.changed:
        yield _changed_table(first, changed)
    sides = [first.a, *(pair.b for pair in pairs)]
    yield Next([["report", *chain.from_iterable(sides)]])


def _changed_table(comparison: Comparison, most: int) -> TextTable:
    a, b = (sum(row["better"] == side for row in comparison.changed) for side in "ab")
    first = " (of each side's first run)" if len(comparison.a) > 1 or len(comparison.b) > 1 else ""
    title = f"{so_many(a)} that only A has right, {b:,} that only B has right{first}"
    words = ["text", "label", "a", "b"]
    rows = [(str(row["id"]), *(as_plain_text(row[name]) for name in words)) for row in comparison.changed[:most]]
    names = ["text", "label", "A", "B"]
    return TextTable(title=title, columns=["id", *names], rows=rows, words=names, ruled=True)
