"""`finetune label-next`: the rows of a pool that are worth labelling next, for a labelling tool."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Json, Out, Quiet, Replace
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.cli.which_run import say_which
from finetune.commands.label_next.api import next_rows_of, require_pool
from finetune.commands.label_next.result import MOST_CHOSEN, RANDOM_SHARE, AskedRows
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
        Path,
        typer.Option(
            "-o", "--output", help="What is written: .json for Label Studio, .jsonl for doccano, else a table."
        ),
    ] = Path("next.csv"),
    to: Annotated[
        str | None, typer.Option("--to", help="label-studio, doccano or table, if the ending says another.")
    ] = None,
    random: Annotated[
        float, typer.Option(min=0, max=1, help="The share that is chosen at random, and becomes dev in the next run.")
    ] = RANDOM_SHARE,
    new_only: Annotated[bool, typer.Option("--new-only", help="Leave out the rows that have labels already.")] = False,
    force: Replace = False,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes the least sure rows, spread over the pool, and the rows that have labels: all that the next run reads."""
    others, given = split_arguments(settings or [])
    if others:
        raise UserError(f"'{others[0]}' is not a setting", "Name one pool, and settings as key=value")
    options = {name: str(value) for name, value in given.items()}
    asked = AskedRows(rows=rows, random=random, new_only=new_only)
    folder = require_pool(run, pool, output, asked=asked, to=to, options=options, out=out, force=force)
    if not quiet:
        say_which([run], out)
    load_libraries("" if quiet else f"{pool}: loading {run}", "finetune.commands.label_next.next_rows")
    with watching(quiet=quiet) as watch:
        found = next_rows_of(
            folder, pool, output, asked=asked, to=to, options=options, data=data, out=out, device=device, watch=watch,
            force=force,
        ).facts()  # fmt: skip
    if as_json:
        echo(json.dumps(found))
        return
    say(_summary(found))
    if not quiet:
        kept = GivenOptions(out=out, device=device)
        labelled = "EXPORT" if found["exported"] else str(output)
        standard_output().print_next(kept.command("run", labelled, *typed_settings(found["settings"])))


def _summary(found: Mapping[str, Any]) -> str:
    """What was chosen, in a few lines."""
    left = [f"{found['labelled']:,} with labels"] * bool(found["labelled"])
    lines = [
        f"{so_many(found['chosen'])} of {found['rows']:,} -> {' and '.join(found['files'])}: the least sure ones, "
        f"{found['random']:,} at random" + (f"; left out: {', '.join(left)}" if left else "")
    ]
    if before := found["labelled_rows_written"]:
        lines.append(f"after them {so_many(before)} with labels, so that the file is all that the next run needs")
    lines += [one_line(note_line(note)) for note in found["notes"]]
    lines += [found["worth"]] if found["worth"] else []
    return "\n".join(lines)
