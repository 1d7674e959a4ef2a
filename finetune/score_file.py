"""Scores of a file of answers, `{row id: answer}`, which is SQuAD's official form and here every task's."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from finetune.errors import UserError
from finetune.heads.span import SpanTask
from finetune.prepare import load_splits
from finetune.source import Source
from finetune.span_answers import SpanAnswer
from finetune.task import Answer, Task


def score_file(
    task: Task, file: Path, *, source: Source, split: str = "dev", null_odds: Path | None = None
) -> tuple[dict[str, float], dict[str, float]]:
    """(scores, thresholds) of a file's answers to the rows of a split.

    Only with `null_odds` (SQuAD 2.0) there are thresholds: the one that is best for F1 decides whether there is an
    answer, and `best em` is the exact match by the one that is best for that. Raises UserError for a file that does
    not answer every row in the task's own terms, and for rows without gold.
    """
    loaded = load_splits(task, source, names=[split])[split]
    rows = loaded.rows
    if any(gold.value is None for gold in task.gold(rows)):
        raise UserError(f"{loaded.origin}: rows of the split '{split}' have no gold", "Choose another --split")
    given = _read(file, rows)
    for row, value in zip(rows, given, strict=True):
        if not task.fits(value, row):
            raise UserError(
                f"{file}: the answer for {row.id} is {value!r}", f"A right one would be {_gold(task, row)!r}"
            )
    if null_odds is None:
        return task.score([Answer(value=value) for value in given], rows), {}
    if not isinstance(task, SpanTask) or not task.unanswerable:
        raise UserError(f"the rows of {task.name} all have answers", "Leave --null-odds out")
    return _with_thresholds(task, given, _read(null_odds, rows), rows, where=null_odds)


def _with_thresholds(
    task: SpanTask, given: Sequence[str], odds: Sequence[Any], rows: Sequence[Any], *, where: Path
) -> tuple[dict[str, float], dict[str, float]]:
    for row, number in zip(rows, odds, strict=True):
        if type(number) not in (int, float) or number != number:
            raise UserError(f"{where}: the odds for {row.id} are {number!r}", "They must be a number")
    pairs = list(zip(given, odds, strict=True))
    found = task.calibrate([SpanAnswer(value=value, null_odds=number) for value, number in pairs], rows)

    def at(threshold: float) -> dict[str, float]:
        return task.score([Answer(value="" if number > threshold else value) for value, number in pairs], rows)

    return at(found["threshold"]) | {"best em": at(found["threshold_em"])["em"]}, found


def _gold(task: Task, row: Any) -> Any:
    return task.gold([row])[0].value


def _read(file: Path, rows: Sequence[Any]) -> list[Any]:
    """The file's values in the order of the rows."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})", "Name a file of answers") from error
    except ValueError as error:
        raise UserError(f"{file}: is not JSON ({error})", "It maps each row's id to its answer") from error
    if not isinstance(found, dict):
        raise UserError(f"{file}: is no JSON object", "It maps each row's id to its answer")
    missing = [row.id for row in rows if row.id not in found]
    if missing:
        raise UserError(
            f"{file}: has no answer for {len(missing)} of {len(rows)} rows, first {missing[0]}",
            "Answer each row (an empty text says that there is no answer), or choose the right --data and --split",
        )
    return [found[row.id] for row in rows]
