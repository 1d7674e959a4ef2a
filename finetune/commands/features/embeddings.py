"""The vectors that an encoder has of texts, of their tokens or of their words, in the order of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.formats.delimited import names_columns
from finetune.data.messages import places, so_many
from finetune.data.reading import first_rows, reading_notes, records
from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.data.table import Table
from finetune.errors import UserError
from finetune.inference.answer_rows import rows_of_records
from finetune.inference.engine import Engine
from finetune.inference.predict_plan import SAMPLE_ROWS, layout_for
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device, resolve_precision
from finetune.models.head import Head
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Note, Watcher
from finetune.runs.folder import data_name
from finetune.runs.recipe import Recipe, parse
from finetune.task_types.columns import Layout
from finetune.task_types.guess import guess
from finetune.task_types.options import configured
from finetune.task_types.own_data import OPTIONS, every_option
from finetune.task_types.prepare import encode_rows, load_splits
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.starting_recipe import fitting_length
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import named_type, trained_task

OF_A_FILE = ("shape", "text", "label", "id", "decimal", "encoding", "sheet")  # the options of data that apply
ROWS_SHOWN = 3  # row numbers in a note


@dataclass(frozen=True, kw_only=True)
class RowsToEmbed:
    """All rows with the settings to encode them; a row that cannot be used is None, and has an id."""

    recipe: Recipe
    task: Task
    rows: Sequence[Row | None]
    ids: Sequence[str]
    notes: Sequence[str] = ()


class EveryPosition(Head):
    """No layers: the sequence output is what is read."""

    inputs = frozenset({"sequence"})


def rows_of_task(planned: ResolvedRun, source: Source, split: str) -> RowsToEmbed:
    """The rows of a split. Raises UserError as reading them does."""
    recipe, task = planned.recipe, planned.task
    loaded = load_splits(task, source, limit=recipe.limit, names=[split])[split]
    ids = [str(row.id) for row in loaded.rows]
    return RowsToEmbed(recipe=recipe, task=task, rows=loaded.rows, ids=ids, notes=loaded.notes)


def rows_of_file(path: Path, settings: Mapping[str, Any], *, trained: Layout | None, length: int | None) -> RowsToEmbed:
    """Every row of a file, in order; labels are not read.

    `trained` are the columns and `length` is the max_length of a run's model. Raises UserError for a file that cannot
    be read, without a usable row, or whose text is in none of its columns, and for a setting that does not apply.
    """
    given = {key: str(value) for key, value in settings.items() if key in OPTIONS}
    if unused := [key for key in given if key not in OF_A_FILE]:
        raise UserError(f"{unused[0]}= does not apply: every row of {path} is embedded", "Leave it out")
    form = form_for(path, trained, given)
    sample = first_rows(path, form, most=SAMPLE_ROWS)
    columns = {key: value for key, value in given.items() if key not in ("encoding", "sheet")}
    layout, notes = _columns_of(sample, trained, columns)
    model = str(settings["model"])
    table = {"task": str(path), "model": model, "max_length": length or fitting_length(layout, sample.columns, model)}
    rest = {key: value for key, value in settings.items() if key not in OPTIONS}
    recipe = parse(table, origin=str(path)).with_settings(rest, origin="settings", options=lambda _: every_option())
    task = configured(trained_task(layout, name=data_name(str(path))), recipe.options)
    every = rows_of_records(task, ((record, layout) for record in islice(records(path, form), recipe.limit)))
    unusable = [(one.record.row, one.record.line) for one in every if one.row is None]
    first = next((one.error for one in every if one.error), "")
    if len(unusable) == len(every):
        raise UserError(f"{path}: no row can be used: the first {first}", "Run `finetune check` to see why")
    if unusable:
        cannot = f"{so_many(len(unusable))} that cannot be used: the first {first}"
        where = places(unusable, most=ROWS_SHOWN)
        notes = [*notes, f"{path}: {cannot} ({where}); no numbers (nan), or no tokens, in its place"]
    rows, ids = [one.row for one in every], [str(one.record.row) if one.row is None else one.row.id for one in every]
    return RowsToEmbed(recipe=recipe, task=task, rows=rows, ids=ids, notes=[*reading_notes(path, form), *notes])


def _columns_of(sample: Table, trained: Layout | None, given: Mapping[str, str]) -> tuple[Layout, list[str]]:
    """The columns, and a note on those of the text where they were inferred."""
    if trained is not None:
        given = {"shape": trained.shape, **given}
        lines = len(sample.columns) == 1 and not names_columns(sample.form)
        if "text" in given or lines or set(trained.text) <= set(sample.columns):
            columns = {name: value for name, value in given.items() if name in ("text", "label")}
            layout, notes = layout_for(named_type(trained.shape), trained, sample, columns)
            return replace(layout, id=trained.id if trained.id in sample.columns else ""), notes
    try:
        layout = guess(sample, given)
    except UserError:  # it has no label
        layout = guess(sample, given, labelled="label" in given)
    sure = "text" in given or len(sample.columns) == 1
    return layout, [] if sure else [f"text column: {', '.join(layout.text)} (text=COLUMN names another)"]


def arrays_of(
    given: RowsToEmbed, folder: Path, *, pool: str, watch: Watcher, device: str | None
) -> dict[str, np.ndarray]:
    """The embeddings of rows by the encoder of a folder: `ids`, `vectors`, `starts`, and `tokens` where each has one,
    as `Features` has them. A row that cannot be used has a vector of nan, or no token.

    Raises UserError for a layer mix with learned weights.
    """
    layers = given.recipe.layers
    if isinstance(layers, str) and layers.startswith("weighted"):
        raise UserError(f"layers = '{layers}' has weights that only training learns", "Choose a sum, or concat-last-4")
    for note in given.notes:
        watch(Note(note))
    by_token, where = pool == "none", resolve_device(device)
    recipe = given.recipe.model_copy(update={"bilstm": False, "pooling": "family"})
    model, _ = build_model(folder, lambda _: EveryPosition(()), recipe, device=where)
    backbone, tokenizer = model.backbone, load_tokenizer(folder)
    backbone.vector = pool
    accelerator = build_accelerator(where, resolve_precision(recipe.train.precision, where))
    engine = Engine(model=model, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=watch)
    numbers, usable = zip(*((number, row) for number, row in enumerate(given.rows) if row is not None), strict=True)
    features = encode_rows(given.task, usable, tokenizer, recipe.max_length, engine.most_tokens)
    if cut := len({feature.row for feature in features if feature.truncated}):
        watch(Note(f"{cut:,} of {so_many(len(usable))} {given.task.truncation_note(recipe.max_length)}"))
    sequences = [sequence for feature in features for sequence in feature.choices or (feature,)]
    rows = np.array([numbers[feature.row] for feature in features for _ in feature.choices or (feature,)])
    states = sorted(engine.hidden_states(sequences, backbone.layer_indices(pooled=False), pooled=not by_token))
    summed = backbone.reader is not None and backbone.reader.mix.how == "sum"
    vectors = np.concatenate([layers.sum(1) if summed else layers.reshape(len(layers), -1) for _, layers in states])
    ids, count = np.array(given.ids), len(given.ids)
    if not by_token:  # the mean of a row's windows or choices by their tokens
        lengths, totals = np.array([*map(len, sequences)]), np.zeros((count, vectors.shape[1]))
        np.add.at(totals, rows, vectors * lengths[:, None])
        with np.errstate(invalid="ignore"):
            means = totals / np.bincount(rows, lengths, count)[:, None]
        return {"ids": ids, "vectors": means.astype(np.float32), "starts": np.arange(count + 1)}
    tokens: list[str] = []
    for sequence in sequences:
        all_tokens = tokenizer.convert_ids_to_tokens(list(sequence.input_ids))
        tokens += all_tokens if sequence.reads is None else [all_tokens[position] for position in sequence.reads]
    lengths = np.bincount(rows, [len(layers) for _, layers in states], count)
    starts = np.cumsum([0, *lengths.astype(int)])
    return {"ids": ids, "vectors": vectors, "starts": starts, "tokens": np.array(tokens)}
