"""`finetune features`: writes embeddings of texts to a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import Data, Device, Settings
from finetune.cli.console import standard_error
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import ProgressDisplay
from finetune.cli.terminal import echo
from finetune.data.messages import so_many
from finetune.data.source import source_of
from finetune.runs.toml import override_value
from finetune.training.targets import load_target, split_arguments


class Pool(StrEnum):
    """Pooling of a text's token vectors."""

    NONE = "none"
    CLS = "cls"
    MEAN = "mean"


def features(
    model: Annotated[str, typer.Argument(help="A Hub name, a folder, or minilm.")],
    target: Annotated[str, typer.Argument(metavar="DATA", help="Your data, or a recipe (the data of its task).")],
    settings: Settings = None,
    layers: Annotated[str, typer.Option(help="As in a recipe: last, concat-last-4, [4,6] ...")] = "last",
    pool: Annotated[
        Pool, typer.Option(help="cls or mean: one vector per text; none: one per token, or per word.")
    ] = Pool.NONE,
    split: Annotated[str, typer.Option(help="Which split of the data.")] = "train",
    output: Annotated[Path, typer.Option("-o", "--output", help="A .parquet or .npz file.")] = Path("features.parquet"),
    data: Data = None,
    device: Device = None,
) -> None:
    """Writes the file and prints the number and width of its vectors."""
    _, given = split_arguments(settings or [])
    planned = load_target(target, given | {"model": model, "layers": override_value(layers)})
    load_libraries(f"{target}: loading {model}", "finetune.inference.embeddings")
    from finetune.inference.embeddings import write_features

    with ProgressDisplay(standard_error()) as watch:
        count, width = write_features(
            planned.recipe, planned.task, output, source=source_of(data), split=split, pool=pool.value, watch=watch,
            device=device,
        )  # fmt: skip
    echo(f"{so_many(count, 'sequence')} of the split '{split}', vectors of {so_many(width, 'number')} -> {output}")
