"""Checks a file and an output of `finetune predict` before libraries, model or rows are read. No torch."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.data.atomic import require_replaceable_output
from finetune.data.detect import BY_SUFFIX
from finetune.data.file_format import FileFormat
from finetune.data.formats.delimited import names_columns
from finetune.data.formats.word_lines import WordLines
from finetune.data.messages import first_of, lacking, so_many
from finetune.data.open_files import PACKED
from finetune.data.paths import is_data, is_folder
from finetune.data.reading import first_rows
from finetune.data.table import Table
from finetune.data.writing import written_format
from finetune.errors import UserError, nearest
from finetune.gone import gone
from finetune.inference.export_facts import is_export
from finetune.runs.folder import with_results
from finetune.runs.lookup import named_run
from finetune.task_types.candidates import Ambiguous, copied
from finetune.task_types.classification.spans import END_NAMES, NONE, named_spans
from finetune.task_types.columns import Layout
from finetune.task_types.guess import guess, named_columns
from finetune.task_types.own_type import OwnType, inputs_of
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import layout_from, named_type, type_of

NAMING = ("text", "label", "spans", "span_ends")  # settings that name columns
SETTINGS = (*NAMING, "encoding", "sheet")
SAMPLE_ROWS = 1_000  # rows from which columns are inferred
COLUMNS_SHOWN = 12  # names of columns in a message
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)  # what a damaged config raises


@dataclass(frozen=True, kw_only=True)
class ColumnsRead:
    """How a file is read for a model: its format, the columns of the model's inputs, notes, and the first rows."""

    form: FileFormat
    layout: Layout
    notes: list[str]
    sample: Table


def columns_read(
    path: Path, kind: OwnType, trained: Layout | None, options: Mapping[str, Any], *, inputs: tuple[str, ...] = ()
) -> ColumnsRead:
    """How a file is read: by `options` (text, label, spans, span_ends, encoding, sheet), else as in training.

    Raises UserError for a file that cannot be read, and as `layout_for` does.
    """
    form = form_for(path, trained, options, inputs=inputs)
    sample = first_rows(path, form, most=SAMPLE_ROWS)
    named = {name: str(value) for name, value in options.items() if name in NAMING}
    layout, notes = layout_for(kind, trained, sample, named, inputs=inputs)
    try:
        layout = kind.as_written(layout, sample)
    except UserError as error:  # its scores would be wrong
        layout, notes = replace(layout, label=()), [*notes, f"{error.what}; not scored"]
    return ColumnsRead(form=form, layout=layout, notes=notes, sample=sample)


def require_predictable(
    model: str, path: Path, output: Path | None, options: Mapping[str, Any], *, out: Path, force: bool = False
) -> Path:
    """The output, by default named like the file.

    Raises UserError for a setting or a model that does not exist, and for an output that may not be written; for the
    model of a run on a user's file, also for a file without its columns.
    """
    require_settings(options)
    layout = _trained_layout(model, out)
    output = output or default_output(path, form_for(path, layout, options))
    require_output_for(path, output, force=force)
    if layout is not None:
        columns_read(path, named_type(layout.shape), layout, options)
    return output


def require_settings(options: Mapping[str, Any]) -> None:
    """Raises UserError with the nearest name for a setting that files do not have."""
    if unknown := next((name for name in options if name not in SETTINGS), None):
        way_out = "Set text=COLUMN, label=COLUMN, spans=A,B, encoding=NAME or sheet=NAME"
        raise gone(unknown) or UserError(f"unknown setting '{unknown}'", f"{nearest(unknown, [*SETTINGS])}{way_out}")


def known_type(task: Task) -> OwnType:
    """The type of a task's data. Raises UserError where it is unknown."""
    kind = type_of(task)
    if kind is None:
        raise UserError(f"the task {task.name} has no known data type", "Use it in Python: finetune.load(...)(INPUTS)")
    return kind


def _trained_layout(model: str, out: Path) -> Layout | None:
    """The columns of a user's file on which a model was trained; None for other models.

    Raises UserError for data without a run, and for a run with a damaged record.
    """
    run = named_run(model, out)
    if run is not None:
        run.record()
    elif is_data(model) and not is_folder(model):
        way = f"Train one: {with_results('run', model, out=out)}"
        raise UserError(f"{model}: no finished run in {out} was trained on it", way)
    elif not is_export(model):
        return None
    with suppress(*DAMAGED):  # which loading the model reports
        config = (run.model if run else Path(model)) / "config.json"
        return layout_from(json.loads(config.read_text(encoding="utf-8"))["finetune"]["layout"])
    return None


def shown_names(columns: Iterable[str]) -> str:
    """The names of columns, or the first of many."""
    return first_of(list(columns), COLUMNS_SHOWN)


def require_output_for(path: Path, output: Path, *, force: bool) -> None:
    """Raises UserError for an output of unknown format, or one that would replace `path`, or a file without `force`."""
    written_format(output)
    require_replaceable_output(output, reads=[path], force=force)


def default_output(path: Path, form: FileFormat) -> Path:
    """`new.predicted.csv` in this folder for `new.csv`; a .conll for words with tags, a TSV for a .txt of lines."""
    gzip = ".gz" * (path.suffix == ".gz")
    plain = Path(path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name)
    suffix = ".tsv" if plain.suffix.lower() == ".txt" else plain.suffix
    suffix = ".conll" if isinstance(form.layout, WordLines) else suffix
    has_format = suffix.lower() in BY_SUFFIX
    return Path(f"{plain.stem}.predicted{suffix}{gzip}" if has_format else f"{plain.name}.predicted.jsonl{gzip}")


def layout_for(
    kind: OwnType,
    trained: Layout | None,
    sample: Table,
    options: Mapping[str, str],
    *,
    inputs: tuple[str, ...] = (),
) -> tuple[Layout, list[str]]:
    """The columns of the model's inputs, and notes on inferred ones.

    The columns are as in training. They are inferred for a model that was not trained on columns, for a file without
    names of columns, and for types with a variable number of inputs. `inputs` are the columns that a shipped task
    declares. Raises UserError for a missing column, and for another number of texts than in training.
    """
    columns, sure = set(sample.columns), "text" in options
    if trained is None:
        if inputs and not sure and {*inputs} <= columns:
            options, sure = {**options, "text": ",".join(inputs)}, True
    elif "spans" not in options and {*trained.marked} <= columns:
        spans = ",".join(trained.marked or trained.markers) or NONE
        options = {**options, "spans": spans, "span_ends": trained.span_ends}
    if trained is not None and not sure and {*trained.text_columns} <= columns:
        label = named_columns(options["label"], sample.columns, "label", sample) if options.get("label") else []
        missing = [name for name in trained.label if name not in columns]
        partly = missing and not label and len(missing) < len(trained.label)
        notes = [f"no column {', '.join(missing)}: not scored"] if partly else []
        layout = _with_spans(trained, options, sample)
        return replace(layout, label=tuple(label) or (() if missing else trained.label), id=""), notes
    if not columns:
        raise UserError(f"{sample.path}: none of its first rows can be read", "Check it with `finetune check`")
    if trained is not None and not sure and len(columns) == len(inputs_of(kind)) == 1:
        return replace(trained, text=(*columns,), label=(), id=""), [f"text column: {', '.join(columns)}"]
    variable_inputs = kind.list_last and trained is not None and len(trained.text) > 1
    try:
        layout = guess(sample, {**options, "shape": kind.name}, labelled="label" in options)
    except UserError as error:
        if trained is None or sure or (isinstance(error, Ambiguous) and variable_inputs):
            raise
        raise _lacks(sample, trained.text_columns, len(trained.text)) from error
    text = layout.text
    if trained is not None:
        has_names = len(columns) > 1 or names_columns(sample.form)
        if not variable_inputs and ((has_names and not sure) or len(trained.text) != len(text)):
            raise _lacks(sample, trained.text_columns, len(trained.text), text)
        keeps_label = "label" not in options and {*trained.label} <= columns
        layout = replace(
            _with_spans(trained, options, sample),
            text=text, label=trained.label if keeps_label else layout.label, group="", rest=layout.rest,
            delimiter=layout.delimiter,
        )  # fmt: skip
    elif inputs and len(text) != len(inputs):
        raise _lacks(sample, inputs, len(inputs))
    inferred = [] if sure or len(columns) == 1 else [f"text column: {', '.join(text)} (text=COLUMN names another)"]
    return replace(layout, id=""), inferred


def _with_spans(trained: Layout, options: Mapping[str, str], sample: Table) -> Layout:
    """The layout of training with the columns of spans in `options`."""
    if not trained.markers or not options.get("spans"):
        return trained
    names = named_spans(options["spans"], sample.columns, str(sample.path))
    marked = names if {*names} <= {*sample.columns} else ()
    ends = options.get("span_ends") or trained.span_ends
    return replace(trained, marked=marked, span_ends=END_NAMES.get(ends, trained.span_ends))


def _lacks(sample: Table, columns: Sequence[str], wanted: int, likely: Sequence[str] = ()) -> UserError:
    """The error for a file without the columns of training; a command names `likely` if these are `wanted` texts."""
    texts = likely if len(likely) == wanted else ["COLUMN"] * wanted
    return UserError(
        f"{sample.path}: {lacking(columns, sample.columns)}, on which the model was trained",
        f"It has {shown_names(sample.columns)}. The model reads {so_many(wanted, 'text')}; name"
        f" {'it' if wanted == 1 else 'them'}: {copied('text=' + ','.join(texts))}",
    )
