"""`finetune features`: writes embeddings of texts to a file."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Device, Json, Out, Quiet, Replace, SettingsArgument
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, say
from finetune.commands.features.api import PoolName, embed
from finetune.data.messages import so_many
from finetune.runs.toml import override_value
from finetune.training.targets import split_arguments


def features_command(
    model: Annotated[str, typer.Argument(help="A Hub name, a folder, minilm, or a run (id, or its data).")],
    target: Annotated[Path, typer.Argument(metavar="DATA", help="A data file in any format.")],
    settings: SettingsArgument = None,
    layers: Annotated[str, typer.Option(help="As in a recipe: last, concat-last-4, [4,6] ...")] = "last",
    pool: Annotated[PoolName, typer.Option(help="The mean of a text's tokens, or the vector of the first.")] = "mean",
    output: Annotated[Path, typer.Option("-o", "--output", help="A .parquet or .npz file.")] = Path("features.parquet"),
    force: Replace = False,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes the file and prints the number and width of its vectors."""
    _, given = split_arguments(settings or [])
    load = partial(
        load_libraries, "" if quiet else f"{target}: loading {model}", "finetune.commands.features.embeddings"
    )
    with watching(quiet=quiet) as watch:
        embedded = embed(
            model, target, given | {"layers": override_value("layers", layers)}, path=output, pool=pool, out=out,
            device=device, force=force, load=load, watch=watch,
        )  # fmt: skip
    if as_json:
        echo(json.dumps({"rows": embedded.rows, "width": embedded.width, "file": str(output)}))
        return
    say(f"{so_many(embedded.rows)}, a vector of {so_many(embedded.width, 'number')} for each -> {output}")
