"""The vectors that an encoder has of the texts of a file, in the order of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.formats.delimited import names_columns
from finetune.data.messages import places, so_many
from finetune.data.reading import first_rows, reading_notes, records
from finetune.data.rows import Row
from finetune.data.table import Table
from finetune.errors import UserError
from finetune.inference.answer_rows import PredictedRow, rows_of_records
from finetune.inference.engine import Engine
from finetune.inference.predict_plan import SAMPLE_ROWS, layout_for
from finetune.inference.predictor import saved
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device, resolve_precision
from finetune.models.head import Head
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Note, Watcher
from finetune.runs.folder import data_name
from finetune.runs.lookup import latest_words
from finetune.runs.recipe import Recipe
from finetune.runs.resolve import parse, with_settings
from finetune.task_types.columns import OPTIONS, Layout
from finetune.task_types.guess import guess
from finetune.task_types.options import configured
from finetune.task_types.own_data import every_option
from finetune.task_types.prepare import encode_rows
from finetune.task_types.starting_recipe import fitting_length
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import named_type, trained_task

OF_A_FILE = ("shape", "text", "label", "id", "decimal", "encoding", "sheet")  # the options of data that apply
ROWS_SHOWN = 3  # row numbers in a note


class EveryPosition(Head):
    """A head without layers: it returns the sequence output."""

    inputs = frozenset({"sequence"})


def vectors_of(
    model: str, path: Path, settings: Mapping[str, Any], *, pool: str, out: Path, device: str | None, watch: Watcher
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of a file's rows `(rows,)`, and their vectors `(rows, width)`: of a row that cannot be used nan.

    Raises UserError for a file that cannot be read, without a usable row, or whose text is in none of its columns, for
    a setting that does not apply, and for a layer mix with learned weights.
    """
    run = saved(model, out=out)
    if run.candidates:
        watch(Note(latest_words(model, run.candidates)))
    folder = run.trained_folder
    task, recipe, rows = _rows_of(path, {**settings, "model": model}, run.layout, run.settings.get("max_length"), watch)
    if isinstance(recipe.layers, str) and recipe.layers.startswith("weighted"):
        learned = f"layers = '{recipe.layers}' has weights that only training learns"
        raise UserError(learned, "Choose a sum, or concat-last-4")
    where = resolve_device(device)
    recipe = recipe.model_copy(update={"bilstm": False, "pooling": "family"})
    encoder, _ = build_model(folder, lambda _: EveryPosition(()), recipe, device=where)
    backbone, tokenizer = encoder.backbone, load_tokenizer(folder)
    backbone.vector = pool
    accelerator = build_accelerator(where, resolve_precision(recipe.train.precision, where))
    engine = Engine(model=encoder, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=watch)
    usable: list[tuple[int, Row]] = [
        (number, prepared.row) for number, prepared in enumerate(rows) if prepared.row is not None
    ]
    features = encode_rows(task, [row for _, row in usable], tokenizer, recipe.max_length, engine.most_tokens)
    if cut := len({feature.row for feature in features if feature.truncated}):
        watch(Note(f"{cut:,} of {so_many(len(usable))} {task.truncated.format(max_length=recipe.max_length)}"))
    sequences = [sequence for feature in features for sequence in feature.choices or (feature,)]
    of_row = np.array([usable[feature.row][0] for feature in features for _ in feature.choices or (feature,)])
    states = sorted(engine.hidden_states(sequences, backbone.layer_indices(pooled=False), pooled=True))
    summed = backbone.reader is not None and backbone.reader.mix.how == "sum"
    vectors = np.concatenate([layers.sum(1) if summed else layers.reshape(len(layers), -1) for _, layers in states])
    # the mean of a row's windows or choices by their tokens
    lengths, totals = np.array([*map(len, sequences)]), np.zeros((len(rows), vectors.shape[1]))
    np.add.at(totals, of_row, vectors * lengths[:, None])
    with np.errstate(invalid="ignore"):
        means = totals / np.bincount(of_row, lengths, len(rows))[:, None]
    ids = [str(prepared.record.row) if prepared.row is None else prepared.row.id for prepared in rows]
    return np.array(ids), means.astype(np.float32)


def _rows_of(
    path: Path, settings: Mapping[str, Any], trained: Layout | None, length: int | None, watch: Watcher
) -> tuple[Task, Recipe, Sequence[PredictedRow]]:
    """How a file is read and encoded, and all its rows; `trained` are the columns and `length` is the max_length of a
    run's model.
    """
    options = {key: str(value) for key, value in settings.items() if key in OPTIONS}
    if unused := [key for key in options if key not in OF_A_FILE]:
        raise UserError(f"{unused[0]}= does not apply: every row of {path} is embedded", "Leave it out")
    form = form_for(path, trained, options)
    sample = first_rows(path, form, most=SAMPLE_ROWS)
    columns = {key: value for key, value in options.items() if key not in ("encoding", "sheet")}
    layout, notes = _columns_of(sample, trained, columns)
    model = str(settings["model"])
    table = {"task": str(path), "model": model, "max_length": length or fitting_length(layout, sample.columns, model)}
    rest = {key: value for key, value in settings.items() if key not in OPTIONS}
    plain = parse(table, origin=str(path))
    recipe = with_settings(plain, rest, origin="settings", options=lambda _: every_option())
    task = configured(trained_task(layout, name=data_name(str(path))), recipe.options)
    rows = rows_of_records(task, ((record, layout) for record in islice(records(path, form), recipe.limit)))
    unusable = [(prepared.record.row, prepared.record.line) for prepared in rows if prepared.row is None]
    first = next((prepared.error for prepared in rows if prepared.error), "")
    if len(unusable) == len(rows):
        raise UserError(f"{path}: no row can be used: the first {first}", "Run `finetune check` to see why")
    if unusable:
        cannot = f"{so_many(len(unusable))} that cannot be used: the first {first}"
        notes = [*notes, f"{path}: {cannot} ({places(unusable, most=ROWS_SHOWN)}); no numbers (nan) in its place"]
    for note in (*reading_notes(path, form), *notes):
        watch(Note(note))
    return task, recipe, rows


def _columns_of(sample: Table, trained: Layout | None, options: Mapping[str, str]) -> tuple[Layout, list[str]]:
    """The columns, and a note where the text's columns were inferred."""
    if trained is not None:
        options = {"shape": trained.shape, **options}
        lines = len(sample.columns) == 1 and not names_columns(sample.form)
        if "text" in options or lines or set(trained.text) <= set(sample.columns):
            columns = {name: value for name, value in options.items() if name in ("text", "label")}
            layout, notes = layout_for(named_type(trained.shape), trained, sample, columns)
            return replace(layout, id=trained.id if trained.id in sample.columns else ""), notes
    try:
        layout = guess(sample, options)
    except UserError:  # it has no label
        layout = guess(sample, options, labelled="label" in options)
    sure = "text" in options or len(sample.columns) == 1
    return layout, [] if sure else [f"text column: {', '.join(layout.text)} (text=COLUMN names another)"]
