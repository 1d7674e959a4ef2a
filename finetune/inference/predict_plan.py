"""What is wrong with a file or an output of `finetune predict`, before libraries, model or rows are read: no torch."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.data.detect import BY_SUFFIX
from finetune.data.file_format import FileFormat
from finetune.data.files import is_data
from finetune.data.formats.delimited import names_columns
from finetune.data.formats.word_lines import WordLines
from finetune.data.messages import first_of, lacking, so_many
from finetune.data.open_files import PACKED
from finetune.data.outputs import require_replaceable_output
from finetune.data.paths import is_folder
from finetune.data.reading import first_rows
from finetune.data.table import Table
from finetune.data.writing import written_format
from finetune.errors import UserError, nearest
from finetune.gone import gone
from finetune.inference.exported.export_facts import is_export
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
SAMPLE_ROWS = 1_000  # rows from which columns are inferred
COLUMNS_SHOWN = 12  # names of columns in a message


@dataclass(frozen=True, kw_only=True)
class ColumnsRead:
    """How a file is read for a model: its form, the columns that are the model's inputs, notes on those that were
    inferred, and the first rows.
    """

    form: FileFormat
    layout: Layout
    notes: list[str]
    sample: Table


def columns_read(
    path: Path, kind: OwnType, trained: Layout | None, options: Mapping[str, Any], *, inputs: tuple[str, ...] = ()
) -> ColumnsRead:
    """How a file is read, by `options` (text, label, spans, span_ends, encoding, sheet) and else as in training.

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

    Raises UserError for a setting or a model that does not exist, an output that may not be written, and for a file
    without the columns that the model was trained on, if that was a run on such a file.
    """
    require_settings(options)
    layout = trained_layout(model, out)
    form = form_for(path, layout, options)
    output = output or default_output(path, form)
    require_output_for(path, output, force=force)
    if layout is not None:
        columns_read(path, named_type(layout.shape), layout, options)
    return output


def require_settings(options: Mapping[str, Any]) -> None:
    """Raises UserError with the nearest name for a setting that is not one of a file."""
    names = [*NAMING, "encoding", "sheet"]
    if unknown := [name for name in options if name not in names]:
        if taken_out := gone(unknown[0]):
            raise taken_out
        way_out = "Set text=COLUMN, label=COLUMN, spans=A,B, encoding=NAME or sheet=NAME"
        raise UserError(f"unknown setting '{unknown[0]}'", f"{nearest(unknown[0], names)}{way_out}")


def known_type(task: Task) -> OwnType:
    """The type of the data that a task's model reads. Raises UserError where it is unknown."""
    kind = type_of(task)
    if kind is None:
        raise UserError(f"the task {task.name} has no known data type", "Use it in Python: finetune.load")
    return kind


def trained_layout(model: str, out: Path) -> Layout | None:
    """The columns that a run's model was trained on; None for other models.

    Raises UserError for data without a run, and for a run whose record is damaged.
    """
    found = named_run(model, out)
    if found is None and is_data(model) and not is_folder(model):
        way = f"Train one: {with_results('run', model, out=out)}"
        raise UserError(f"{model}: no finished run in {out} was trained on it", way)
    if found is not None:
        found.record()
    damaged = OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError
    with suppress(*damaged):  # which loading the model reports
        folder = found.model if found else Path(model)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8")) if found or is_export(model) else {}
        return layout_from(config["finetune"]["layout"])
    return None


def shown_names(columns: Iterable[str]) -> str:
    """The names of columns, or the first of many."""
    return first_of(list(columns), COLUMNS_SHOWN)


def require_output_for(path: Path, output: Path, *, force: bool) -> None:
    """Raises UserError where the predictions of a file cannot be written to another, or may not replace it."""
    written_format(output)
    require_replaceable_output(output, reads=[path], force=force)


def default_output(path: Path, form: FileFormat) -> Path:
    """`new.predicted.csv` in this folder for `new.csv`; a .conll for words with tags, a TSV for a .txt of lines."""
    gzip = ".gz" * (path.suffix == ".gz")
    plain = Path(path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name)
    suffix = ".tsv" if plain.suffix.lower() == ".txt" else plain.suffix
    suffix = ".conll" if isinstance(form.layout, WordLines) else suffix
    known = suffix.lower() in BY_SUFFIX
    return Path(f"{plain.stem}.predicted{suffix}{gzip}" if known else f"{plain.name}.predicted.jsonl{gzip}")


def layout_for(
    kind: OwnType,
    trained: Layout | None,
    sample: Table,
    options: Mapping[str, str],
    *,
    inputs: tuple[str, ...] = (),
) -> tuple[Layout, list[str]]:
    """The columns that are the model's inputs, and notes on those that were inferred.

    They are those of training. They are inferred for a model that was not trained on columns, in a file that does not
    name its columns, and for types that can read another number of them than in training. `inputs` are the columns
    that a shipped task declares. Raises UserError for a missing column, and if the number of texts differs from
    training.
    """
    columns, options = set(sample.columns), _with_spans(options, trained, sample)
    if trained is None and inputs and "text" not in options and set(inputs) <= columns:
        options = {**options, "text": ",".join(inputs)}
    if trained is not None and "text" not in options and set(trained.text_columns) <= columns:
        given = named_columns(options["label"], sample.columns, "label", sample) if options.get("label") else []
        kept = tuple(given) or (trained.label if set(trained.label) <= columns else ())
        missing = [name for name in trained.label if name not in columns]
        some = missing and not given and len(missing) < len(trained.label)
        notes = [f"no column {', '.join(missing)}: not scored"] if some else []
        return replace(_marked(trained, options, sample), label=kept, id=""), notes
    if not columns:
        raise UserError(f"{sample.path}: none of its first rows can be read", "Check it with `finetune check`")
    if trained is not None and "text" not in options and len(columns) == len(inputs_of(kind)) == 1:
        return replace(trained, text=(*columns,), label=(), id=""), [f"text column: {', '.join(columns)}"]
    any_columns = kind.list_last and trained is not None and len(trained.text) > 1
    try:
        found = guess(sample, {**options, "shape": kind.name}, labelled="label" in options)
    except UserError as error:
        if trained is None or "text" in options or (isinstance(error, Ambiguous) and any_columns):
            raise
        raise _lacks(sample, trained) from error
    if trained is not None:
        if "text" not in options and not any_columns and (len(columns) > 1 or names_columns(sample.form)):
            raise _lacks(sample, trained, found.text)
        if len(trained.text) != len(found.text) and not any_columns:
            raise _lacks(sample, trained)
        kept = trained.label if "label" not in options and set(trained.label) <= columns else found.label
        spans = _marked(trained, options, sample)
        found = replace(spans, text=found.text, label=kept, group="", rest=found.rest, delimiter=found.delimiter)
    elif len(found.text) != len(inputs or found.text):
        raise _lacks(sample, Layout(shape=kind.name, text=inputs))
    sure = "text" in options or len(columns) == 1
    return replace(found, id=""), [] if sure else [f"text column: {', '.join(found.text)} (text=COLUMN names another)"]


def _with_spans(options: Mapping[str, str], trained: Layout | None, sample: Table) -> Mapping[str, str]:
    """The options with the spans of training, where they name no others."""
    if trained is None or "spans" in options or not set(trained.marked) <= set(sample.columns):
        return options
    return {**options, "spans": ",".join(trained.marked or trained.markers) or NONE, "span_ends": trained.span_ends}


def _marked(trained: Layout, options: Mapping[str, str], sample: Table) -> Layout:
    """The layout of training, with the columns of spans that are named."""
    if not trained.markers or not options.get("spans"):
        return trained
    names = named_spans(options["spans"], sample.columns, str(sample.path))
    marked = names if set(names) <= set(sample.columns) else ()
    ends = options.get("span_ends") or trained.span_ends
    return replace(trained, marked=marked, span_ends=END_NAMES.get(ends, trained.span_ends))


def _lacks(sample: Table, trained: Layout, likely: Sequence[str] = ()) -> UserError:
    """The error for a file without the columns that the model was trained on; `likely` may be meant."""
    wanted = len(trained.text)
    texts = likely if len(likely) == wanted else ["COLUMN"] * wanted
    return UserError(
        f"{sample.path}: {lacking(trained.text_columns, sample.columns)}, on which the model was trained",
        f"It has {shown_names(sample.columns)}. The model reads {so_many(wanted, 'text')}; name"
        f" {'it' if wanted == 1 else 'them'}: {copied('text=' + ','.join(texts))}",
    )
