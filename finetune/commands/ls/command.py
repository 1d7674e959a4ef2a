"""`finetune ls`: lists runs, recipes and tasks, or prints the leaderboard of a task."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.analysis.form import require_table_file
from finetune.cli.arguments import RESULTS, Json, Out, Replace
from finetune.cli.console import Terminal, facts_table, standard_output
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.run_tables import interrupted_table, runs_table
from finetune.cli.tables import as_table
from finetune.cli.terminal import echo_rows, one_line, say
from finetune.commands.ls.api import Listing
from finetune.commands.ls.api import ls as listed
from finetune.data.messages import noun, so_many
from finetune.errors import UserError

MOST_LISTED = 30  # runs, the latest


def ls_command(
    task: Annotated[str | None, typer.Argument(help="Only the runs of this task or data file.")] = None,
    board: Annotated[bool, typer.Option("--board", help="Its leaderboard: a line a model and settings.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="With --board: a file to write: .md or .csv.")
    ] = None,
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
    kept, console = GivenOptions(out=out), standard_output()
    if board:
        _print_board(console, task, output, kept, force=force, as_json=as_json)
        return
    found = listed(out, task=task)
    if as_json:  # with the columns of `finetune.ls`
        echo_rows(found.runs)
        echo_rows(found.interrupted)
    else:
        _print_runs(console, found, task, kept)


def _print_runs(console: Terminal, found: Listing, task: str | None, kept: GivenOptions) -> None:
    """All runs, or of very many the latest; those that are not finished; then recipes and tasks."""
    finished = sorted(found.finished, key=lambda run: run.finished)
    if task is None and len(finished) > MOST_LISTED:
        title = f"the latest {MOST_LISTED} of {so_many(len(finished), 'run')}; of one task: finetune ls TASK"
        console.print(runs_table(finished[-MOST_LISTED:], title=title))
    elif finished:
        console.print(runs_table(found.finished))
    if found.unfinished:
        console.print(interrupted_table(found.unfinished))
    if task is None:
        console.print(facts_table("recipes", found.recipes))
        console.print(facts_table("tasks", {name: ", ".join(metrics) for name, metrics in found.tasks.items()}))
    next_commands = []
    if finished:
        latest = max(finished, key=lambda run: run.finished)
        several = sum(run.task == latest.task for run in finished) > 1
        boards = [kept.command("ls", task or latest.task, "--board")] * several
        next_commands = [kept.command("show", latest.id), *boards]
    if task is None or not finished:
        next_commands.append(kept.command("run", "FILE"))
    console.print_next(*next_commands)


def _print_board(
    console: Terminal, task: str | None, output: Path | None, kept: GivenOptions,
    *, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Prints or writes the leaderboard. Raises UserError without a task, or without finished runs."""
    if task is None:
        names = dict.fromkeys(run.task for run in listed(kept.out).finished)
        way = f"Name one: {', '.join(names)}" if names else f"There is no finished run in {kept.out}"
        raise UserError("a leaderboard is of one task", way)
    if output is not None:
        require_table_file(output, reads=task, force=force)
    found = listed(kept.out, task=task)
    board, unfinished = found.board(task), found.unfinished
    if unfinished:
        under_way = sum(run.running for run in unfinished)
        left_out = f"{so_many(len(unfinished), 'run')} without scores yet {noun(len(unfinished), 'is', 'are')} left out"
        say(one_line(note_line(left_out + f" ({under_way} trained now)" * bool(under_way))), err=True)
    if as_json:
        echo_rows(board.frame)
    elif output is not None:
        board.write(output, force=force)
        say(f"{output}: {board.form.title}", err=True)
    else:
        cells, numbers = board.form.cells, board.form.numbers
        console.print(as_table(board.form))
        lines = [line for line, shown in zip(numbers, cells, strict=True) if shown["data"] == cells[0]["data"]]
        best = [line["runs"].split(", ")[0] for line in lines[:2]]  # of the same rows
        two = [kept.command("compare", *best, "--seeds")] * (len(best) > 1)
        console.print_next(kept.command("ls", task, "--board", "-o", "board.md"), *two)
