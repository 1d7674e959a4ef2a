"""A note of `predict` on rows that are clearly unlike the dev rows of the run: tokens, unknown ones, confidence."""

from collections.abc import Sequence

import numpy as np

from finetune.data.messages import percent
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.answer_rows import PredictedRow
from finetune.inference.predictor import Predictor
from finetune.models.feature import Sequences
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.task_types.predictions import row_of_line
from finetune.task_types.saved_predictions import confidences

LEAST_ROWS, MOST_ROWS = 50, 500
ERRORS = 5.0  # standard errors of the difference of two means, beyond which it is not chance
SPREADS = 0.5  # standard deviations of dev's rows, beyond which it matters
UNKNOWN, CONFIDENCE = 0.02, 0.05  # more unknown tokens, as a share, and less confidence, below which it does not


def shift_notes(predictor: Predictor, sample: Sequence[PredictedRow], name: str) -> list[str]:
    """One line if the predicted rows of a file are unlike the run's dev rows, else none; none without a run's folder.

    `sample` are rows from all parts of the file. The rows of training, of which a model is more confident, are not
    unlike.
    """
    usable = [(one.row, one.answer) for one in sample if one.answer is not None and one.row is not None]
    dev = _dev_rows(predictor) if len(usable) >= LEAST_ROWS else None
    if dev is None or len(dev[0]) < LEAST_ROWS:
        return []
    (before, lacked), (tokens, lacks) = _tokens(predictor, dev[0]), _tokens(predictor, [row for row, _ in usable])
    was, sure = _numbers(dev[1]), _numbers(confidences(predictor.task, predictor.engine.labels, usable))
    found = []
    if abs(_step(np.log(before), np.log(tokens))) > SPREADS * np.log(before).std():
        found.append(f"{np.median(tokens):.0f} tokens a row (dev: {np.median(before):.0f})")
    if _step(lacked, lacks) > max(UNKNOWN, SPREADS * lacked.std()):
        found.append(f"{percent(lacks.mean())} unknown tokens (dev: {percent(lacked.mean())})")
    enough = predictor.temperature == 1 and min(len(was), len(sure)) >= LEAST_ROWS
    if enough and _step(sure, was) > max(CONFIDENCE, SPREADS * was.std()):
        found.append(f"mean confidence {sure.mean():.2f} (dev: {was.mean():.2f})")
    return [f"{name}: is unlike the dev rows, whose scores may not hold for it: {', '.join(found)}"] if found else []


def _dev_rows(predictor: Predictor) -> tuple[list[Row], list[float | None]] | None:
    """Some rows of dev and the confidence of their predictions; None where the run's folder has none."""
    if predictor.folder is None or predictor.engine.pretrains:
        return None
    run = RunFolder(predictor.folder.parent)
    try:
        if (record := run.record()) is None or run.model != predictor.folder:
            return None
        lines = read_lines(run, record.first_split)
        lines = lines[:: max(1, len(lines) // MOST_ROWS)]
        rows = [row_of_line(predictor.task, line, run.path) for line in lines]
    except UserError:  # predictions do not need them
        return None
    if record.first_split in record.learned:  # after these predictions
        return rows, []
    return rows, [line.get("confidence") for line in lines]


def _tokens(predictor: Predictor, rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    """The number of tokens of each row, and the share of them that the vocabulary lacks, both `(rows,)`."""
    counts, unknown = np.zeros(len(rows)), np.zeros(len(rows))
    for sequence in Sequences(predictor.encoded(rows)):
        counts[sequence.row] += len(sequence.input_ids)
        unknown[sequence.row] += np.count_nonzero(np.asarray(sequence.input_ids) == predictor.tokenizer.unk_token_id)
    counts = np.maximum(counts, 1)
    return counts, unknown / counts


def _numbers(some: Sequence[float | None]) -> np.ndarray:
    return np.array([number for number in some if number is not None])


def _step(old: np.ndarray, new: np.ndarray) -> float:
    """The difference of two means; 0 if it may be chance."""
    step = float(new.mean() - old.mean())
    error = np.hypot(old.std() / len(old) ** 0.5, new.std() / len(new) ** 0.5)
    return step if abs(step) > ERRORS * error else 0.0
