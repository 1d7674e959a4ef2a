"""What `/about` says of a model: its columns, labels and limits, its scores, and rows of dev to try it on."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from finetune.commands.serve.explained import is_explained
from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.page.facts import page_facts
from finetune.commands.serve.served_model import ServedModel
from finetune.errors import UserError
from finetune.metrics.scores import plain_metrics
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.record import RunRecord
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.run_view import split_view_of

MOST_EXAMPLES = 20  # right ones, and wrong ones
LONGEST_EXAMPLE = 2_000  # characters


def about_model(model: ServedModel, limits: ServeLimits, *, examples: int = MOST_EXAMPLES) -> dict[str, Any]:
    """A model's facts as JSON values, with so many dev rows that it predicted right, and as many wrong ones.

    Raises UserError where the record of its run is damaged.
    """
    predictor = model.predictor
    record = model.run.record() if model.run else None
    return {
        "name": model.name,
        "task": predictor.task.name,
        "shape": model.kind.name,
        "columns": list(model.columns),
        "labels": list(model.labels),
        "scores": {} if record is None else _scores(record),
        "fingerprint": predictor.fingerprint,
        "max_length": predictor.max_length,
        "engine": model.engine,
        "calibrated": predictor.temperature != 1,
        "examples": [] if record is None or model.run is None else _examples(model, model.run, record, examples),
        "limits": {"rows": limits.rows, "characters": limits.characters, "body_bytes": limits.body_bytes},
        "explain": is_explained(model),
        "choices": model.kind.any_columns,
        **page_facts(model),
    }


def _scores(record: RunRecord) -> dict[str, Any]:
    """The scores on the split that runs are compared on, the headline first with its 95 % interval, as computed."""
    split, found = record.first_split, dict[str, Any]()
    scores = record.scores[split]
    margin = record.margins.get(split)
    for name in sorted(plain_metrics(scores), key=lambda name: name != record.headline):
        of_headline = margin.interval if margin and name == record.headline else None
        low, high = of_headline or (None, None)
        value = None if math.isnan(scores[name]) else scores[name]
        shown = "" if value is None else record.metric(name).shown(value)
        found[name] = {"value": value, "low": low, "high": high, "rows": record.rows.get(split), "shown": shown}
    return found


def _examples(model: ServedModel, folder: RunFolder, record: RunRecord, most: int) -> list[dict[str, Any]]:
    """Dev rows with their label and prediction, the wrong ones first; none where they are not there, or damaged."""
    if not most:
        return []
    try:
        lines = read_lines(folder, record.first_split)
        view = split_view_of(record, folder, record.first_split, lines)
        if view is None or not view.bounded:
            return []
        wrong = view.wrong().tolist()
        found = [
            list(
                islice(
                    _rows(
                        model,
                        [one for one, is_wrong in zip(view.lines, wrong, strict=True) if is_wrong == kind],
                        view,
                        folder,
                        right=not kind,
                    ),
                    most,
                )
            )
            for kind in (True, False)
        ]
    except UserError:
        return []
    return [one for some in found for one in some]


def _rows(model: ServedModel, lines: Sequence[Any], view: Any, folder: Any, *, right: bool) -> Iterator[dict[str, Any]]:
    for line in lines:
        label, prediction = view.verdict(line)
        row = model.as_columns(row_of_line(model.predictor.task, line, folder.path))
        if row and sum(map(len, row.values())) <= LONGEST_EXAMPLE:
            yield {"row": row, "prediction": prediction, "label": label, "right": right}
