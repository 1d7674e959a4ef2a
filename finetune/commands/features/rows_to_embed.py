"""The rows whose embeddings `finetune features` writes: those of a user's file, with labels or not, or of a split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.data.formats.delimited import names_columns
from finetune.data.messages import places, so_many
from finetune.data.reading import first_rows, reading_notes, records
from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.data.table import Table
from finetune.errors import UserError
from finetune.inference.predict_plan import SAMPLE_ROWS, layout_for
from finetune.runs.folder import data_name
from finetune.runs.recipe import Recipe, parse
from finetune.task_types.columns import Layout
from finetune.task_types.options import configured
from finetune.task_types.own_data import OPTIONS, every_option, guessed
from finetune.task_types.prepare import load_splits
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.starting_recipe import fitting_length
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import named_type, trained_task

OF_A_FILE = ("shape", "text", "label", "id", "decimal", "encoding", "sheet")  # the options of data that apply
ROWS_SHOWN = 3  # row numbers in a note


@dataclass(frozen=True, kw_only=True)
class RowsToEmbed:
    """The usable `rows` with the settings to encode them; row i is number `places[i]` of `ids`, which has them all."""

    recipe: Recipe
    task: Task
    rows: Sequence[Row]
    ids: Sequence[str]
    places: Sequence[int]
    notes: Sequence[str] = ()


def rows_of_task(recipe: Recipe, task: Task, source: Source, split: str) -> RowsToEmbed:
    """The rows of a split. Raises UserError as reading them does."""
    loaded = load_splits(task, source, limit=recipe.limit, names=[split])[split]
    ids = [str(row.id) for row in loaded.rows]
    return RowsToEmbed(recipe=recipe, task=task, rows=loaded.rows, ids=ids, places=range(len(ids)), notes=loaded.notes)


def rows_of_file(path: Path, settings: Mapping[str, Any], *, trained: Layout | None, length: int | None) -> RowsToEmbed:
    """Every row of a file, in order; labels are not read.

    `trained` are the columns and `length` is the max_length of a run's model. Raises UserError for a file that cannot
    be read, without a usable row, or whose text is in none of its columns, and for a setting that does not apply.
    """
    given = {key: str(value) for key, value in settings.items() if key in OPTIONS}
    if unused := [key for key in given if key not in OF_A_FILE]:
        raise UserError(f"{unused[0]}= does not apply: every row of {path} is embedded", "Leave it out")
    form = form_for(path, trained, given)
    given = {key: value for key, value in given.items() if key not in ("encoding", "sheet")}
    sample = first_rows(path, form, most=SAMPLE_ROWS)
    layout, notes = _layout(sample, trained, given)
    table = {
        "task": str(path),
        "model": settings["model"],
        "max_length": length or fitting_length(layout, sample.columns, str(settings["model"])),
    }
    rest = {key: value for key, value in settings.items() if key not in OPTIONS}
    recipe = parse(table, origin=str(path)).with_settings(rest, origin="settings", options=lambda _: every_option())
    task = configured(trained_task(layout, name=data_name(str(path))), recipe.options)
    found = _read(RowsToEmbed(recipe=recipe, task=task, rows=[], ids=[], places=[], notes=notes), path, form, layout)
    return replace(found, notes=[*reading_notes(path, form), *found.notes])


def _layout(sample: Table, trained: Layout | None, given: Mapping[str, str]) -> tuple[Layout, list[str]]:
    """The columns, and a note on those of the text where they were inferred."""
    given = given if trained is None else {"shape": trained.shape, **given}
    lines = len(sample.columns) == 1 and not names_columns(sample.form)
    if trained is not None and ("text" in given or lines or set(trained.text) <= set(sample.columns)):
        columns = {name: value for name, value in given.items() if name in ("text", "label")}
        found, notes = layout_for(named_type(trained.shape), trained, sample, columns)
        return replace(found, id=trained.id if trained.id in sample.columns else ""), notes
    try:
        found = guessed(sample, given)
    except UserError:
        found = guessed(sample, given, labelled="label" in given)
    sure = "text" in given or len(sample.columns) == 1
    return found, [] if sure else [f"text column: {', '.join(found.text)} (text=COLUMN names another)"]


def _read(found: RowsToEmbed, path: Path, form: Any, layout: Layout) -> RowsToEmbed:
    """With the rows of a file; those that cannot be used have an id, and their numbers are in a note."""
    bare = replace(layout, label=())
    rows: list[Row] = []
    ids: list[str] = []
    used: list[int] = []
    unusable: list[tuple[int, int]] = []
    first = ""
    for record in records(path, form):
        if len(ids) == found.recipe.limit:
            break
        try:
            row = row_of(bare, record)
            if fault := found.task.fault(row):
                raise NoRow(fault)
        except NoRow as why:
            first = first or str(why)
            unusable.append((record.row, record.line))
            ids.append(str(record.row))
            continue
        used.append(len(ids))
        ids.append(row.id)
        rows.append(row)
    if not rows:
        raise UserError(f"{path}: no row can be used: the first {first}", "Run `finetune check` to see why")
    notes = [*found.notes]
    if unusable:
        cannot = f"{so_many(len(unusable))} that cannot be used: the first {first}"
        notes.append(
            f"{path}: {cannot} ({places(unusable, most=ROWS_SHOWN)}); no numbers (nan), or no tokens, in its place"
        )
    return replace(found, rows=rows, ids=ids, places=used, notes=notes)
