"""`finetune label-next`: chooses the rows of a pool that a model is least sure of, to label them next."""

import heapq
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from finetune.analysis.table import Next, NoteLine, Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, model_name, named_options, which_run
from finetune.api.parameters import Cli, Columns, OutputFile, Setting
from finetune.api.run import Run
from finetune.data.atomic import require_replaceable_output
from finetune.data.characters import same_text
from finetune.data.messages import noun, so_many
from finetune.data.reading import read_table, reading_notes, records, survey
from finetune.data.writing import write_rows, written_format
from finetune.errors import UserError, shown_value
from finetune.inference.answer_rows import free_name
from finetune.inference.predict_plan import columns_read, known_type, require_predictable
from finetune.runs.events import RowsPredicted, Watcher
from finetune.runs.lookup import require_run
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.settings import typed_settings
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.pretraining.own import Text
from finetune.task_types.saved_predictions import confidences
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import rows_of

if TYPE_CHECKING:
    import pandas as pd

    from finetune.inference.predictor import Predictor

MOST_CHOSEN = 100_000  # rows
DEFAULT = Path("next.csv")


@dataclass(frozen=True, kw_only=True)
class NextRows:
    """What `finetune.label_next` returns.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Attributes:
        path: The file that was written; None where the rows are in memory alone.
        rows: The number of rows in the pool.
        known: How many of them the run was trained or scored on.
        failed: How many of them cannot be predicted.
        chosen: How many were chosen.
        settings: The settings with which a run reads the rows once they are labelled.
        notes: Rows that are missing, and columns that were inferred.
        frame: The rows.
    """

    path: Path | None
    rows: int
    known: int
    failed: int
    chosen: int
    settings: Mapping[str, str]
    notes: list[str]
    frame: "pd.DataFrame" = field(repr=False, compare=False)


@plainly
def label_next(
    run: Run | str | Path,
    pool: Any,
    *,
    text: Columns = None,
    rows: Annotated[int, Cli(least=1)] = 200,
    path: OutputFile = None,
    spans: Columns = None,
    span_ends: Columns = None,
    encoding: Setting = "",
    sheet: Setting = "",
    force: bool = False,
    out: str | Path = "results",
    device: str | None = None,
) -> NextRows:
    """Chooses the rows of a pool to label next: those of which the model is least sure, with its suggestions.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Args:
        run: A run on your own data (folder, id, or its task), or the file that it was trained on.
        pool: Rows without labels, with the columns of training: a data file in any format, or rows in memory.
        text: The column or columns of the inputs, if they have other names than in training.
        spans: The columns of marked spans, if they have other names than in training.
        span_ends: The columns where these spans end.
        rows: How many rows to choose.
        path: The file to write, a table or JSON Lines; default: next.csv, and none for rows in memory.
        encoding: The encoding of a data file, if it is not detected.
        sheet: The sheet of an Excel file; default: that of training if there is one of its name, else the first.
        force: Replace a file that this command did not write.
        out: The folder of runs.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.

    Returns:
        The rows with the model's predictions as suggestions, and how many were left out.

    Raises:
        UserError: For a pool that cannot be read or has no row to label, and for a file that may not be written.
    """
    options = named_options(text=text, spans=spans, span_ends=span_ends, encoding=encoding, sheet=sheet)
    results = Path(out)
    if not 1 <= rows <= MOST_CHOSEN:
        raise UserError(f"rows is {shown_value(rows)}", f"Give a number from 1 to {MOST_CHOSEN:,}")
    with ExitStack() as stack:
        if is_path(pool):
            path = path or DEFAULT
        else:
            pool = stack.enter_context(in_memory(pool, Path(stack.enter_context(TemporaryDirectory()))))
        file, output = Path(pool), None if path is None else Path(path)
        if output is not None:
            require_replaceable_output(output, reads=[file], force=force)
            written_format(output)
        folder = require_run(model_name(run), results)
        name = str(folder.path)
        require_predictable(name, file, (output or DEFAULT).with_suffix(".csv"), options, out=results, force=True)
        here().tell(*which_run([model_name(run)], results))
        watch = stack.enter_context(here().working(f"{pool}: loading the model {model_name(run)}", model=name))
        from finetune.inference.predictor import load_predictor

        predictor = load_predictor(name, out=results, watch=watch, device=device)
        return _least_sure(predictor, load_record(folder.record_file), file, output, rows, options, watch)


def _least_sure(
    predictor: "Predictor", record: RunRecord, pool: Path, output: Path | None, rows: int,
    options: Mapping[str, str], watch: Watcher,
) -> NextRows:  # fmt: skip
    """Writes rows of a pool with an empty column of labels and the predictions, the least sure first.

    Raises UserError for a pool without a row to label.
    """
    import pandas as pd

    task, kind = predictor.task, known_type(predictor.task)
    if isinstance(kind, Text) or predictor.layout is None:
        raise UserError(f"{task.name}: its rows are not of a file with labels of yours", "Name another run")
    file = columns_read(pool, kind, predictor.layout, options, inputs=task.inputs)
    form, layout = file.form, file.layout
    trained, notes = _trained_texts(record, predictor.layout)
    notes = [*reading_notes(pool, form), *file.notes, *notes]
    total, columns = survey(pool, form)
    labels = predictor.layout.label or ("label",)
    suggested = free_name(f"suggested {labels[0] if len(labels) == 1 else 'label'}", columns)
    raw_labels = {name: raw for raw, name in layout.names.items()}
    counts, failures, seen = Counter[str](), list[str](), set[int]()

    def candidates() -> Iterator[tuple[float, int, dict[str, Any]]]:
        """(certainty, key, row) of each text that the run has not read; without certainties keys are a random order."""
        started = time.perf_counter()
        for window in predictor.predicted((line, layout) for line in records(pool, form)):
            pairs = [(row.row, row.answer) for row in window if row.answer is not None]
            certainties = iter(confidences(task, predictor.engine.labels, pairs))
            for row in window:
                if row.row is None or row.answer is None:
                    failures.append(f"row {row.record.row} {row.error}")
                    continue
                certainty, key = next(certainties), _text_key(row.row.input)
                if key in trained:
                    counts["known"] += 1
                elif key not in seen:
                    seen.add(key)
                    label = predictor.cells(row)["prediction"]
                    label = raw_labels.get(label, label) if isinstance(label, str) else label
                    added = {suggested: label, "certainty": certainty and round(certainty, 4)}
                    order = dict.fromkeys((*layout.text_columns, *labels, *added))
                    yield certainty or 0.0, key, order | row.record.values | dict.fromkeys(labels, "") | added
            counts["rows"] += len(window)
            rate = counts["rows"] / (time.perf_counter() - started)
            watch(RowsPredicted(done=counts["rows"], total=max(counts["rows"], total), rate=rate))

    chosen = [row for _, _, row in heapq.nsmallest(rows, candidates())]
    if not chosen and counts["known"]:
        raise UserError(f"{pool}: all {so_many(counts['known'])} were read by the run already", "Name other rows")
    if not chosen:
        raise UserError(f"{pool}: no row can be predicted: {failures[0]}", "Run `finetune check` to see why")
    if failures:
        left_out = f"{noun(len(failures), 'is', 'are')} left out: the first, {failures[0]}"
        notes.append(f"{so_many(len(failures))} cannot be predicted, and {left_out}")
    if len(chosen) < rows:
        notes.append(f"only {so_many(len(chosen))} of the {rows:,} asked for: the pool has no others")
    written = [*dict.fromkeys(name for row in chosen for name in row)]
    if output is not None:
        write_rows(output, chosen, written, escaped=[suggested])
    return NextRows(
        path=output, rows=counts["rows"], known=counts["known"], failed=len(failures), chosen=len(chosen),
        settings={"shape": kind.name, "text": layout.text_setting, "label": ",".join(labels)},
        notes=notes, frame=pd.DataFrame(chosen, columns=written),
    )  # fmt: skip


def _text_key(text: str) -> int:
    """A hash of a text that ignores case and spaces."""
    digest = blake2b(same_text(text).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def _trained_texts(record: RunRecord, layout: Layout) -> tuple[set[int], Sequence[str]]:
    """The keys of all rows that a run was trained or scored on, and notes on files that cannot be read."""
    keys, notes, options = set[int](), list[str](), record.recipe.get("options", {})
    settings = {name: str(options.get(name, "")) for name in ("encoding", "sheet")}
    for origin in record.data_origin.values():
        try:
            table = read_table(Path(origin), form=form_for(Path(origin), layout, settings))
        except UserError as error:
            notes.append(f"the rows of {origin} are not left out where the pool has them ({error.what})")
        else:
            rows = [row for _, row in rows_of(layout, table) if not isinstance(row, NoRow)]
            keys.update(_text_key(row.input) for row in rows if row.gold is not None)
    return keys, notes


def as_json(result: NextRows) -> Iterator[Mapping[str, Any]]:
    """`path`, `rows` of the pool, of which `known`, `failed`, `chosen`; `settings` to read the file with; `notes`."""
    yield {name: value for name, value in vars(result).items() if name != "frame"}


def shown(result: NextRows) -> Iterator[Part]:
    """How many rows were chosen and left out, and how to train once they are labelled."""
    left_out = f"; left out: {result.known:,} that the run read" if result.known else ""
    yield f"{so_many(result.chosen)} of {result.rows:,} -> {result.path}: the least sure ones{left_out}"
    yield from map(NoteLine, result.notes)
    yield Next([["run", str(result.path), *typed_settings(result.settings)]])
