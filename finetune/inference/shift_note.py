"""A note of `predict` on rows that are clearly unlike the dev rows of the run: tokens, unknown ones, confidence."""

from collections.abc import Iterator, Sequence

import numpy as np

from finetune.data.messages import percent
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR, Answered, rows_of_records
from finetune.inference.predictor import Predictor
from finetune.models.feature import Sequences
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.task_types.columns import Layout
from finetune.task_types.parts import Answer
from finetune.task_types.prediction_lines import row_of_line

LEAST_ROWS, MOST_ROWS = 50, 500
ERRORS = 5.0  # standard errors of the difference of two means, beyond which it is not chance
SPREADS = 0.5  # standard deviations of dev's rows, beyond which it matters
UNKNOWN, CONFIDENCE = 0.02, 0.05  # more unknown tokens, as a share, and less confidence, below which it does not


def shift_notes(
    predictor: Predictor, layout: Layout, sample: Sequence[tuple[Record, Answered]], name: str
) -> list[str]:
    """One line if the predicted rows of a file are unlike the run's dev rows, else none; none without a run's folder.

    `sample` are rows from all parts of the file. The rows of training, of which a model is more confident, are not
    unlike.
    """
    usable = [record for record, one in sample if ERROR not in one.cells]
    dev = _dev_rows(predictor) if len(usable) >= LEAST_ROWS else None
    if dev is None or len(dev[0]) < LEAST_ROWS:
        return []
    old, new = _measured(predictor, dev[0]), _measured(predictor, rows_of_records(predictor, layout, usable))
    found = [*_tokens_changed(old, new), *_less_sure(predictor, dev[1], [one.confidence for _, one in sample])]
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
    answers = [Answer(value=line["prediction"], probabilities=line.get("probabilities")) for line in lines]
    if record.first_split in record.learned:  # after these predictions
        return rows, []
    sure = predictor.task.confidence
    return rows, [sure(one, row) for one, row in zip(answers, rows, strict=True) if one.probabilities]


def _measured(predictor: Predictor, rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    """The number of tokens of each row, and the share of them that the vocabulary lacks, both `(rows,)`."""
    counts, unknown = np.zeros(len(rows)), np.zeros(len(rows))
    for sequence in Sequences(predictor.encoded(rows)):
        counts[sequence.row] += len(sequence.input_ids)
        unknown[sequence.row] += np.count_nonzero(np.asarray(sequence.input_ids) == predictor.tokenizer.unk_token_id)
    return np.maximum(counts, 1), unknown / np.maximum(counts, 1)


def _tokens_changed(old: tuple[np.ndarray, np.ndarray], new: tuple[np.ndarray, np.ndarray]) -> Iterator[str]:
    if abs(_step(np.log(old[0]), np.log(new[0]))) > SPREADS * np.log(old[0]).std():
        yield f"{np.median(new[0]):.0f} tokens a row (dev: {np.median(old[0]):.0f})"
    if _step(old[1], new[1]) > max(UNKNOWN, SPREADS * old[1].std()):
        yield f"{percent(new[1].mean())} unknown tokens (dev: {percent(old[1].mean())})"


def _less_sure(predictor: Predictor, old: Sequence[float | None], new: Sequence[float | None]) -> Iterator[str]:
    before, now = (np.array([one for one in some if one is not None]) for some in (old, new))
    if predictor.temperature != 1 or min(len(before), len(now)) < LEAST_ROWS:
        return
    if _step(now, before) > max(CONFIDENCE, SPREADS * before.std()):
        yield f"mean confidence {now.mean():.2f} (dev: {before.mean():.2f})"


def _step(old: np.ndarray, new: np.ndarray) -> float:
    """The difference of two means; 0 if it may be chance."""
    step = float(new.mean() - old.mean())
    error = np.hypot(old.std() / len(old) ** 0.5, new.std() / len(new) ** 0.5)
    return step if abs(step) > ERRORS * error else 0.0
