"""Scores of a file of answers, `{row id: answer}`, which is SQuAD's official form and here every task's."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from finetune import task as tasks
from finetune.errors import UserError
from finetune.heads.span import SpanAnswer, SpanTask
from finetune.prepare import load_splits
from finetune.source import Source
from finetune.task import Answer


def score_file(
    task_name: str, file: Path, *, source: Source, split: str = "dev", null_odds: Path | None = None
) -> tuple[dict[str, float], dict[str, float]]:
    """(scores, thresholds) of a file's answers to the rows of a split.

    Only with `null_odds` (SQuAD 2.0) there are thresholds, and the one that is best for F1 decides whether there is
    an answer. Raises UserError for a file that does not answer every row.
    """
    task = tasks.find(task_name)
    rows = load_splits(task, source, names=[split])[split].rows
    given = _answers(file, rows, kind=type(task.gold(rows[:1])[0].value))
    if null_odds is None:
        return task.score([Answer(value=value) for value in given], rows), {}
    if not isinstance(task, SpanTask) or not task.unanswerable:
        raise UserError(f"the rows of {task.name} all have answers", "Leave --null-odds out")
    odds = _answers(null_odds, rows, kind=float)
    pairs = list(zip(given, odds, strict=True))
    thresholds = task.calibrate([SpanAnswer(value=value, null_odds=number) for value, number in pairs], rows)
    kept = [Answer(value="" if number > thresholds["threshold"] else value) for value, number in pairs]
    return task.score(kept, rows), thresholds


def _answers(file: Path, rows: Sequence[Any], *, kind: type) -> list[Any]:
    """The file's values, of one kind, in the order of the rows."""
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
    for row in rows:
        if not isinstance(found[row.id], (int, float) if kind is float else kind):
            raise UserError(f"{file}: the answer for {row.id} is {found[row.id]!r}", f"It must be a {kind.__name__}")
    return [found[row.id] for row in rows]
