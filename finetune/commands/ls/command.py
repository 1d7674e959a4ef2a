"""`finetune ls`: lists recipes, tasks and runs."""

from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Json, Out
from finetune.cli.console import facts_table, standard_output
from finetune.cli.next_commands import GivenOptions
from finetune.cli.run_tables import interrupted_table, running_table, runs_table
from finetune.cli.terminal import echo_rows
from finetune.commands.ls.api import Listing
from finetune.commands.ls.api import ls as listed


def ls_command(
    running: Annotated[bool, typer.Option("--running", help="Only the runs that are trained now.")] = False,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Prints tables of recipes, tasks, finished runs and interrupted ones."""
    console = standard_output()
    found = listed(out)
    if as_json:
        _print_runs(found, running=running)
        return
    if running:
        under_way = [run for run in found.unfinished if run.running]
        console.print(running_table(under_way) if under_way else f"no run in {out} is trained now")
        return
    console.print(facts_table("recipes", found.recipes))
    console.print(facts_table("tasks", {name: ", ".join(metrics) for name, metrics in found.tasks.items()}))
    shown = []
    if found.finished:
        console.print(runs_table(found.finished))
        shown = [GivenOptions(out=out).command("show", found.finished[-1].id)]
    if found.unfinished:
        console.print(interrupted_table(found.unfinished))
    console.print_next(*shown, GivenOptions(out=out).command("run", "FILE"))


def _print_runs(found: Listing, *, running: bool) -> None:
    """A line of JSON for each run, finished or not, with the columns of `finetune.ls`."""
    frames = [found.interrupted.query("running == True")] if running else [found.runs, found.interrupted]
    for frame in frames:
        echo_rows(frame)
