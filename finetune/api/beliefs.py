"""Rows whose label may be wrong, the least believed first."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finetune.analysis.label_errors import beliefs
from finetune.api.predictions import line_by_column
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.record import RunRecord
from finetune.task_types.run_view import split_view_of


def believed_lines(record: RunRecord, out: Path) -> list[dict[str, Any]]:
    """The predictions of a run, each with the probability of its label and how far that is believed, least first."""
    return sorted(_lines(record, RunFolder.of(out, record.task, record.id)), key=_least_first)


def _least_first(line: dict[str, Any]) -> tuple[bool, float]:
    return math.isnan(line["belief"]), line["belief"]


def _lines(record: RunRecord, folder: RunFolder) -> Iterator[dict[str, Any]]:
    for split in record.scores:
        lines = read_lines(folder, split)
        view = split_view_of(record, folder, split, lines)
        found = None if view is None else beliefs(view)
        if view is None or found is None:
            continue
        for index, line in enumerate(view.lines):
            kept = {key: value for key, value in line.items() if value is not None and ":" not in key}
            doubt = {} if found.places is None else view.doubt(line, int(found.places[index]))
            chance = {} if view.numbers() is not None else {"label_probability": float(found.chances[index])}
            belief = {"belief": float(found.belief[index])}
            yield {"split": split} | line_by_column(view, kept) | doubt | chance | belief
