"""`finetune features`: writes embeddings of texts to a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Out, Settings
from finetune.cli.console import standard_error
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import ProgressDisplay
from finetune.cli.terminal import echo
from finetune.data.files import is_data, split_files
from finetune.data.messages import so_many
from finetune.data.paths import is_folder
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.events import Note
from finetune.runs.lookup import latest_words
from finetune.runs.toml import override_value
from finetune.training.targets import load_target, split_arguments


class Pool(StrEnum):
    """Pooling of a text's token vectors."""

    NONE = "none"
    CLS = "cls"
    MEAN = "mean"


def features(
    model: Annotated[str, typer.Argument(help="A Hub name, a folder, minilm, or a run (id, or its data).")],
    target: Annotated[str, typer.Argument(metavar="DATA", help="Your data, or a recipe (the data of its task).")],
    settings: Settings = None,
    layers: Annotated[str, typer.Option(help="As in a recipe: last, concat-last-4, [4,6] ...")] = "last",
    pool: Annotated[
        Pool, typer.Option(help="cls or mean: one vector per text; none: one per token, or per word.")
    ] = Pool.NONE,
    split: Annotated[str | None, typer.Option(help="Of a folder or a task: train (the default), dev or test.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="A .parquet or .npz file.")] = Path("features.parquet"),
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
) -> None:
    """Writes the file and prints the number and width of its vectors."""
    _, given = split_arguments(settings or [])
    given |= {"model": model, "layers": override_value(layers)}
    file = _file(target, split) if is_data(target) else None
    planned = load_target(target, given) if file is None else None
    load_libraries(f"{target}: loading {model}", "finetune.inference.embeddings")
    from finetune.inference.embeddings import write_features
    from finetune.inference.predictor import saved
    from finetune.inference.rows_to_embed import rows_of_file, rows_of_task

    with ProgressDisplay(standard_error()) as watch:
        found = saved(model, out=out)
        if found.candidates:
            watch(Note(latest_words(model, found.candidates)))
        if planned is None:
            assert file is not None
            rows = rows_of_file(file, given, trained=found.layout, length=found.settings.get("max_length"))
        else:
            rows = rows_of_task(planned.recipe, planned.task, source_of(data), split or "train")
        count, width = write_features(rows, found.files.folder, output, pool=pool.value, watch=watch, device=device)
    of = "" if planned is None else f" of the split '{split or 'train'}'"
    each = "each token or word" if pool is Pool.NONE else "each"
    echo(f"{so_many(count)}{of}, a vector of {so_many(width, 'number')} for {each} -> {output}")


def _file(target: str, split: str | None) -> Path:
    """The file of the user's data. Raises UserError for a split that it does not have."""
    files = split_files(Path(target))
    if split is not None and not is_folder(Path(target)):
        raise UserError(f"{target}: every row of a file is embedded, so --split does not apply", "Leave --split out")
    if (split or "train") not in files:
        raise UserError(f"{target}: has no file for the split '{split}'", f"It has {', '.join(files)}")
    return files[split or "train"]
