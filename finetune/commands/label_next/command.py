"""`finetune label-next`: the rows of a pool to label next, with suggestions."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Device, Json, Out, Quiet, Replace
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.cli.which_run import say_which
from finetune.commands.label_next.api import MOST_CHOSEN, choose_rows
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.toml import typed_settings
from finetune.training.targets import split_arguments


def label_next_command(
    run: Annotated[str, typer.Argument(help="A run (folder, id, or its task), or the file that it was trained on.")],
    pool: Annotated[Path, typer.Argument(help="Rows without labels, with the columns of training, in any format.")],
    settings: Annotated[list[str] | None, typer.Argument(help="text=COLUMN, encoding=NAME, sheet=NAME.")] = None,
    rows: Annotated[int, typer.Option(min=1, max=MOST_CHOSEN, help="How many rows to choose.")] = 200,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="What is written: a table or JSON Lines, by its ending.")
    ] = Path("next.csv"),
    force: Replace = False,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes the rows of which the model is least sure, with its predictions as suggestions."""
    others, given = split_arguments(settings or [])
    if others:
        raise UserError(f"'{others[0]}' is not a setting", "Name one pool, and settings as key=value")
    options = {name: str(value) for name, value in given.items()}
    if not quiet:
        say_which([run], out)
    load = partial(load_libraries, "" if quiet else f"{pool}: loading {run}", "finetune.commands.label_next.next_rows")
    with watching(quiet=quiet) as watch:
        found = choose_rows(
            run, pool, output, rows=rows, options=options, out=out, device=device, force=force, load=load,
            watch=watch,
        )  # fmt: skip
    if as_json:
        echo(json.dumps(found.facts()))
        return
    left_out = f"; left out: {found.known:,} that the run read" if found.known else ""
    say(f"{so_many(found.chosen)} of {found.rows:,} -> {output}: the least sure ones{left_out}")
    for note in found.notes:
        say(one_line(note_line(note)))
    if not quiet:
        kept = GivenOptions(out=out, device=device)
        standard_output().print_next(kept.command("run", str(output), *typed_settings(found.settings)))
