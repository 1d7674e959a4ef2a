"""Begins a prediction of many files: the inputs, their shards, and whether what is there is of this prediction."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from finetune.data.addresses import Stored, found_files, has_wildcards, is_remote
from finetune.data.atomic import require_no_links
from finetune.data.file_format import FileFormat
from finetune.data.formats import parquet
from finetune.data.parquet_groups import batches, footer
from finetune.data.paths import ADDRESS, is_folder, require_here, require_place
from finetune.data.table import Table, table_of_records
from finetune.errors import UserError
from finetune.inference.predict_plan import SAMPLE_ROWS, layout_for, require_settings, shown_names, trained_layout
from finetune.inference.shards.plan import STATE, InputFile, Plan, shards_of, source_column
from finetune.task_types.columns import Layout
from finetune.task_types.types import named_type

SUFFIX = ".parquet"
SHARD_ROWS = 200_000  # at least, of whole row groups
FOOTERS_AT_ONCE = 16  # footers, which a network takes its time for


def is_many(targets: Sequence[str], output: Path | None) -> bool:
    """Whether these are Parquet files to be predicted into a folder, rather than one file of any format."""
    only = targets[0]
    if is_remote(only) and Path(only).suffix not in ("", SUFFIX) and not has_wildcards(only):
        require_here(only)
    if len(targets) > 1 or is_remote(only):
        return True
    if is_folder(only):
        return any(Path(only).rglob(f"*{SUFFIX}"))
    into_folder = output is not None and (is_folder(output) or not output.suffix)
    return (has_wildcards(only) and not Path(only).exists()) or (only.endswith(SUFFIX) and into_folder)


def require_files(
    model: str, targets: Sequence[str], output: Path | None, options: Mapping[str, Any], *, out: Path
) -> list[Stored]:
    """The inputs, before the model is loaded.

    Raises UserError for settings that do not apply, for inputs or an output folder as `inputs` does, and for files
    without the columns that the model was trained on, if that was a run on a user's own data.
    """
    require_settings(options)
    if other := [name for name in options if name in ("label", "encoding", "sheet")]:
        raise UserError(
            f"'{other[0]}' does not apply to several Parquet files", "`finetune evaluate` scores a file with labels"
        )
    layout = trained_layout(model, out)
    found = inputs(targets, output)
    if layout is not None:
        columns = {name: str(value) for name, value in options.items() if name == "text"}
        layout_for(named_type(layout.shape), layout, sample_of(found), columns)
    return found


def inputs(targets: Sequence[str], output: Path | None) -> list[Stored]:
    """The files that a folder is to hold the predictions of.

    Raises UserError for files that are not found, and a folder that cannot be written or that holds the inputs.
    """
    if output is None:
        raise UserError("several Parquet files are predicted into a folder", "Name a folder for the output")
    if ADDRESS.match(str(output)):
        raise UserError(f"{output}: predictions are written to a folder of this machine", "Name a path")
    if output.exists() and not is_folder(output):
        raise UserError(f"{output}: is a file, and several inputs need a folder", "Name a folder for the output")
    require_place(output / SUFFIX if is_folder(output) else output)  # any name in it
    found = found_files(targets, suffix=SUFFIX)
    inside = f"{output.absolute().as_posix()}/"
    folders = [Path(target).absolute() for target in targets if is_folder(target)]
    if any(one.address.startswith(inside) for one in found) or any(f in output.absolute().parents for f in folders):
        raise UserError(
            f"{output}: is in the folder of the inputs, or holds them", "Name another folder for the output"
        )
    return found


def sample_of(stored: Sequence[Stored]) -> Table:
    """The first rows of the first file that can be read and has any. Raises UserError if there is none."""
    why = None
    for one in stored:
        form, path = FileFormat(format=parquet.FORMAT), Path(one.name)
        try:
            records = parquet.records_of(batches(one.address, rows=SAMPLE_ROWS))
            if found := list(islice(records, SAMPLE_ROWS)):
                return table_of_records(path, form, found)
        except UserError as error:
            why = why or error
    raise why or UserError(f"{stored[0].address}: has no rows", "Give it at least one row")


def begin(stored: Sequence[Stored], output: Path, *, layout: Layout, model: str) -> Plan:
    """Plans the prediction of these inputs, of which an earlier attempt may have done some.

    Raises UserError where another model made what is there, where an input of an output has changed, and for an input
    without the model's columns.
    """
    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as threads:
        files = {file.name: file for file in threads.map(_input, stored)}
    plan = Plan(folder=output, model=model, layout=layout, files=files)
    for inside in output.iterdir() if is_folder(output) else ():
        require_no_links(inside)
    if is_folder(output / STATE) and any(other != plan.state for other in (output / STATE).iterdir()):
        raise UserError(
            f"{output}: has predictions of another model, library version, kind of device or precision",
            "Predict into another folder, or remove it",
        )
    for file in files.values():
        _require_columns(file, layout)
        plan.output(file)
    plan.state.mkdir(parents=True, exist_ok=True)
    return plan


def _input(one: Stored) -> InputFile:
    """The input with its columns and shards, or why it cannot be read."""
    new = InputFile(name=one.name, address=one.address, size=one.size, version=one.version)
    try:
        found = footer(one.address, size=one.size)
    except UserError as error:
        return replace(new, error=error.what)
    return replace(new, columns=found.columns, shards=tuple(shards_of(one.name, found.groups, rows=SHARD_ROWS)))


def _require_columns(file: InputFile, layout: Layout) -> None:
    for name in layout.text:
        if not (file.error or source_column(name, file.columns)):
            raise UserError(
                f"{file.address}: has no column '{name}', which the model reads", f"It has {shown_names(file.columns)}"
            )
