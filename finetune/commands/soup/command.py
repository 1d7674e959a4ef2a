"""`finetune soup`: averages the weights of several runs, and prints what that is worth."""

from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Json, Out, Quiet
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.next_commands import GivenOptions
from finetune.cli.progress import watching
from finetune.cli.run_facts import next_commands
from finetune.cli.run_tables import print_record
from finetune.cli.terminal import echo
from finetune.commands.soup.members import members
from finetune.data.messages import so_many
from finetune.data.source import source_of
from finetune.training.run_options import RunOptions
from finetune.training.targets import split_arguments


def soup_command(
    runs: Annotated[
        list[str],
        typer.Argument(help="Runs (folders or ids), or data or a task: the seeds of its latest run; test=FILE."),
    ],
    out: Out = RESULTS,
    data: Data = None,
    device: Device = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Saves a model of the runs' mean weights, and prints its record."""
    names, settings = split_arguments(runs)
    found = members(names, settings, out)
    silent = quiet or as_json
    load_libraries("" if silent else f"soup of {so_many(len(found.runs), 'run')}", "finetune.commands.soup.averaged")
    from finetune.commands.soup.averaged import souped

    with watching(quiet=silent) as watch:
        record = souped(found, RunOptions(source=source_of(data), out=out, device=device), watch=watch)
    if as_json:
        echo(record.model_dump_json())
        return
    print_record(standard_output(), record)
    if not silent:
        kept = GivenOptions(out=out, data=data, device=device)
        standard_output().print_next(*next_commands([record], kept, settings), piped=True)
