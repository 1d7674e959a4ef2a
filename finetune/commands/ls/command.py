"""`finetune ls`: lists runs, recipes and tasks, or prints the leaderboard of a task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from finetune.analysis.form import require_table_file
from finetune.cli.arguments import RESULTS, Json, Out, Replace
from finetune.cli.console import Terminal, facts_table, standard_output
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.run_tables import interrupted_table, latest_table, running_table, runs_table
from finetune.cli.tables import as_table
from finetune.cli.terminal import echo_rows, one_line, say
from finetune.commands.ls.api import Listing
from finetune.commands.ls.api import ls as listed
from finetune.commands.ls.board import Leaderboard, unfinished_words
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.record import ListedRun

TEXT = "-text"  # the end of the name of a task of another's texts, to train an encoder on
MOST_LISTED = 30  # runs: of more, a line a task and the latest runs
LATEST = 10  # runs


def ls_command(
    task: Annotated[str | None, typer.Argument(help="Only the runs of this task or data file.")] = None,
    board: Annotated[bool, typer.Option("--board", help="Its leaderboard: a line a model and settings.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="With --board: a file to write: .md or .csv.")
    ] = None,
    running: Annotated[bool, typer.Option("--running", help="Only the runs that are trained now.")] = False,
    force: Replace = False,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Prints my runs, recipes and tasks; the runs of a task; or its leaderboard."""
    if output is not None and not board:
        raise UserError(
            f"{output}: only a leaderboard is written to a file",
            "Add --board: " + GivenOptions(out=out).command("ls", task or "TASK", "--board", "-o", str(output)),
        )
    if board:
        _print_board(task, output, out, force=force, as_json=as_json, running=running)
        return
    found = listed(out, task=task)
    if as_json:
        _print_json(found, running=running)
        return
    console = standard_output()
    if running:
        under_way = [run for run in found.unfinished if run.running]
        console.print(running_table(under_way) if under_way else f"no run in {out} is trained now")
        return
    _print_runs(console, found, whole=task is not None)
    if task is None:
        _print_names(console, found)
    console.print_next(*_next(found, GivenOptions(out=out), task))


def _print_runs(console: Terminal, found: Listing, *, whole: bool) -> None:
    """All runs, or of very many a line a task and the latest; then those that are not finished."""
    if found.finished and (whole or len(found.finished) <= MOST_LISTED):
        console.print(runs_table(found.finished))
    elif found.finished:
        latest = sorted(found.finished, key=lambda run: run.finished)[-LATEST:]
        console.print(latest_table(found.finished))
        console.print(runs_table(latest, title=f"the latest {LATEST} of {so_many(len(found.finished), 'run')}"))
    if found.unfinished:
        console.print(interrupted_table(found.unfinished))


def _print_names(console: Terminal, found: Listing) -> None:
    """The recipes, and the tasks with those of their texts in one line."""
    console.print(facts_table("recipes", found.recipes))
    console.print(facts_table("tasks", tasks_by_name(found.tasks)))


def _next(found: Listing, kept: GivenOptions, task: str | None) -> list[str]:
    """What to look at: the latest run, and the leaderboard of a task with several."""
    if not found.finished:
        return [kept.command("run", "FILE")]
    latest = max(found.finished, key=lambda run: run.finished)
    name = task or latest.task
    boards = [kept.command("ls", name, "--board")] * (_count(found.finished, latest.task) > 1)
    return [kept.command("show", latest.id), *boards, *[kept.command("run", "FILE")] * (task is None)]


def _count(runs: Sequence[ListedRun], task: str) -> int:
    return sum(run.task == task for run in runs)


def _print_board(
    task: str | None, output: Path | None, out: Path, *, force: bool, as_json: bool, running: bool
) -> None:
    """Prints or writes the leaderboard. Raises UserError without a task, or without finished runs."""
    if task is None:
        names = dict.fromkeys(run.task for run in listed(out).finished)
        way = f"Name one: {', '.join(names)}" if names else f"There is no finished run in {out}"
        raise UserError("a leaderboard is of one task", way)
    if running:
        raise UserError("a leaderboard has finished runs", "Leave out --running or --board")
    if output is not None:
        require_table_file(output, reads=task, force=force)
    found = listed(out, task=task)
    made = found.board(task)
    if words := unfinished_words(found.unfinished):
        say(one_line(note_line(words)), err=True)
    if as_json:
        echo_rows(made.frame)
    elif output is not None:
        made.write(output, force=force)
        say(f"{output}: {made.form.title}", err=True)
    else:
        _print_form(made, GivenOptions(out=out), task)


def _print_form(made: Leaderboard, kept: GivenOptions, task: str) -> None:
    console = standard_output()
    console.print(as_table(made.form))
    best = made.boards[0].lines[:2]
    two = [kept.command("compare", *(line.records[0].id for line in best), "--seeds")] * (len(best) > 1)
    console.print_next(kept.command("ls", task, "--board", "-o", "board.md"), *two)


def _print_json(found: Listing, *, running: bool) -> None:
    """A line of JSON for each run, finished or not, with the columns of `finetune.ls`."""
    frames = [found.interrupted.query("running == True")] if running else [found.runs, found.interrupted]
    for frame in frames:
        echo_rows(frame)


def tasks_by_name(tasks: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The metrics of each task; that of its texts without labels is in the same line: `f1, accuracy; mrpc-text`."""
    found = {}
    for name, metrics in tasks.items():
        if name.endswith(TEXT) and name.removesuffix(TEXT) in tasks:
            continue
        texts = f"; its texts to train an encoder on: {name}{TEXT}" if f"{name}{TEXT}" in tasks else ""
        found[name] = ", ".join(metrics) + texts
    return found
