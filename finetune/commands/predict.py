"""`finetune predict`: predictions for the rows of a file or in memory, or for lines of standard input."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from finetune.analysis.table import Line, Next, NoteLine, Part
from finetune.api.callbacks import Callback
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import is_path, model_name, named_options
from finetune.api.model import Model, loaded
from finetune.api.parameters import PYTHON, Cli, Columns, OutputFile, Setting
from finetune.data.messages import noun, percent, so_many
from finetune.errors import UserError
from finetune.inference.predict_plan import require_predictable
from finetune.inference.unsure import require_share
from finetune.metrics.metric import find_metric, plain_metrics
from finetune.task_types.task import Task

STDIN = "-"


@dataclass(frozen=True, kw_only=True)
class PredictedFile:
    """What `finetune.predict` returns for a data file.

    Example: `finetune.predict(run, "new.csv").scores`

    Attributes:
        path: The file that was written: all columns, and those of the predictions.
        format: How the data file was read.
        rows: The number of rows.
        errors: How many of them have no prediction; the column `error` says why.
        truncated: The share of rows whose end was not read.
        unsure: How many rows were left out, if `coverage` or `risk` asked for that.
        resumed: How many rows an interrupted call had predicted before.
        seconds: The time that it took.
        rows_per_second: The rate of the rows that were predicted now.
        scores: The score of each metric, if the file has labels.
        notes: What to take into account, such as columns that were inferred.
    """

    path: Path
    format: str
    rows: int
    errors: int
    truncated: float
    unsure: int | None = None
    resumed: int
    seconds: float
    rows_per_second: float
    scores: Mapping[str, float]
    notes: list[str]
    model: str = field(repr=False)
    task: Task = field(repr=False)


@plainly
def predict(
    model: Any,
    data: Annotated[Any, Cli(help="A data file in any format; - reads lines from standard input.")],
    *,
    text: Columns = None,
    label: Columns = None,
    spans: Columns = None,
    span_ends: Columns = None,
    encoding: Setting = "",
    sheet: Setting = "",
    path: OutputFile = None,
    coverage: float | None = None,
    risk: float | None = None,
    escape_formulas: bool = False,
    force: bool = False,
    task: str | None = None,
    out: str | Path = "results",
    device: str | None = None,
    progress: Annotated[bool | None, PYTHON] = None,
    callbacks: Annotated[Iterable[Callback], PYTHON] = (),
) -> Any:
    """Predicts every row of a data file to another file, or rows in memory.

    Example: `finetune.predict("reviews.csv", "new.csv", path="out.csv").scores`, `finetune.predict(run, df)`

    Args:
        model: A run (folder, id, or its task), an export, or any fine-tuned checkpoint.
        data: A data file in any format, rows in memory as for `model.predict`, or `-` for lines of standard input.
        text: The column or columns of the inputs, if they have other names than in training.
        label: The column of the labels, if it has another name than in training.
        spans: The columns of marked spans, if they have other names than in training.
        span_ends: The columns where these spans end.
        encoding: The encoding of a data file, if it is not detected.
        sheet: The sheet of an Excel file; default: that of training if there is one of its name, else the first.
        path: The file to write; default: NAME.predicted.SUFFIX here.
        coverage: Answer this share of rows, the most confident; the others are `unsure`.
        risk: Answer where at most this share is wrong, which holds in 95 of 100 draws of dev rows.
        escape_formulas: Add an apostrophe to cells that a spreadsheet would run as formulas.
        force: Replace a file that this command did not write.
        task: The model's task, if it is in a file (FILE.py:NAME) or was not saved.
        out: The folder of runs.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        progress: Show a line of progress; default: in a notebook.
        callbacks: What receives the events.

    Returns:
        Of a data file the path of the predictions, with rows, scores and notes; of rows in memory the same kind of
        object with the columns of the predictions; of standard input a dictionary for each line, as it comes.

    Raises:
        UserError: For a file that cannot be read or written, and rows without the model's columns.
    """
    require_share(coverage, risk)
    named = named_options(text=text, label=label, spans=spans, span_ends=span_ends, encoding=encoding, sheet=sheet)
    name, lines, target = model_name(model), str(data) == STDIN and is_path(data), Path()
    if lines and (path or escape_formulas or named):
        what = "-o, --escape-formulas and column settings do not apply to lines of standard input"
        raise UserError(what, "Leave them out")
    if is_path(data) and not lines:
        typed_path = None if path is None else Path(path)
        target = require_predictable(name, Path(data), typed_path, named, out=Path(out), force=force)
    elif path or escape_formulas or named.keys() - {"text"}:
        raise UserError("of the settings of a file only `text` applies to rows in memory", "Leave the others out")
    doing = f"{data if is_path(data) else 'rows'}: loading the model {name}"
    with here().working(doing, model=name, progress=progress, callbacks=callbacks) as watch:
        is_loaded = isinstance(model, Model)
        opened = model if is_loaded else loaded(name, task=task, out=out, device=device, watch=watch)
        if not (lines or is_path(data)):
            return opened.predict(data, text=text, coverage=coverage, risk=risk)
        from finetune.inference.predict_file import predict_file

        predictor = opened.predictor.answering(name, coverage=coverage, risk=risk, out=Path(out))
        if lines:
            here().tell(*map(NoteLine, predictor.unsure.notes if predictor.unsure else ()))
            return _predicted_lines(predictor)
        done = predict_file(predictor, Path(data), target, options=named, watch=watch, escape=escape_formulas)
        facts = done.facts(target)
        return PredictedFile(path=Path(facts.pop("output")), model=name, task=predictor.task, **facts)


def _predicted_lines(predictor: Any) -> Iterator[dict[str, Any]]:
    from finetune.inference.answer_rows import stream_lines

    yield from predictor.predict_lines(stream_lines(sys.stdin))


def as_json(predicted: Any) -> Iterator[Mapping[str, Any]]:
    """`output`, `rows`, `errors`: rows without a prediction, `truncated`: a share, `scores` of a file with labels,
    `notes`; or a line for each line of standard input: `prediction`, `p(LABEL)`.
    """
    if not isinstance(predicted, PredictedFile):
        yield from predicted
        return
    hidden = ("path", "model", "task", *["unsure"] * (predicted.unsure is None))
    facts = {name: value for name, value in vars(predicted).items() if name not in hidden}
    yield {"output": str(predicted.path), **facts}


def shown(predicted: Any) -> Iterator[Part]:
    """What was written, with scores if the file has labels; or a JSON object for each line of standard input."""
    if not isinstance(predicted, PredictedFile):
        yield from (json.dumps(cells, ensure_ascii=False) for cells in predicted)
        return
    rows, scores, metrics = predicted.rows, predicted.scores, predicted.task.metrics
    yield f"{so_many(rows)} in {predicted.seconds:.1f} s -> {predicted.path}"
    if count := predicted.errors:
        yield f"{so_many(count)} {noun(count, 'has', 'have')} no prediction: the column `error` says why"
    if (unsure := predicted.unsure) is not None:
        yield f"{so_many(unsure)} unsure ({percent(unsure / max(1, rows))}): in the column `unsure`"
    yield from map(NoteLine, predicted.notes)
    if not scores:
        yield Next([["evaluate", predicted.model, "FILE"]])
        return
    words = {name: f"{name.rpartition('/')[2]} {find_metric(name, metrics).shown(scores[name])}" for name in scores}
    yield Line(", ".join(words[name] for name in plain_metrics(scores)))
    for label in dict.fromkeys(name.rpartition("/")[0] for name in scores if "/" in name):
        yield Line(f"  {label}: " + ", ".join(words[name] for name in words if name.rpartition("/")[0] == label))
