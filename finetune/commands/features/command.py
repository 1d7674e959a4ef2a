"""`finetune features`: writes embeddings of texts to a file."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Json, Out, Quiet, Replace, SettingsArgument
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, say
from finetune.commands.features.api import PoolName, embed
from finetune.data.messages import so_many
from finetune.runs.toml import override_value
from finetune.training.targets import split_arguments


def features_command(
    model: Annotated[str, typer.Argument(help="A Hub name, a folder, minilm, or a run (id, or its data).")],
    target: Annotated[str, typer.Argument(metavar="DATA", help="Your data, or a recipe (the data of its task).")],
    settings: SettingsArgument = None,
    layers: Annotated[str, typer.Option(help="As in a recipe: last, concat-last-4, [4,6] ...")] = "last",
    pool: Annotated[
        PoolName, typer.Option(help="mean or cls: one vector per text; none: one per token, or per word.")
    ] = "mean",
    split: Annotated[str | None, typer.Option(help="Of a folder or a task: train (the default), dev or test.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="A .parquet or .npz file.")] = Path("features.parquet"),
    force: Replace = False,
    data: Data = None,
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
        found = embed(
            model, target, given | {"layers": override_value("layers", layers)}, path=output, pool=pool, split=split,
            data=data, out=out, device=device, force=force, load=load, watch=watch,
        )  # fmt: skip
    if as_json:
        echo(json.dumps({"rows": found.rows, "width": found.width, "file": str(output)}))
        return
    each = "each token or word" if pool == "none" else "each"
    say(f"{so_many(found.rows)}, a vector of {so_many(found.width, 'number')} for {each} -> {output}")
