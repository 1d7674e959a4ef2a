"""Searches the best spans of all rows at once: SQuAD's post-processing without a loop over tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WINDOWS_AT_ONCE = 512  # of similar length at once, to bound memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A feature's part of a context: its tokens begin at index `place`, `starts` and `ends` are their characters.

    `owned` marks the tokens for which this is the window with most context; a span may begin only there.
    """

    place: int
    starts: np.ndarray
    ends: np.ndarray
    owned: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Spans:
    """The candidates of all rows, sorted by row, best first: characters and the logits of start and end."""

    row: np.ndarray
    characters: np.ndarray
    logits: np.ndarray


def best_spans(
    logits: Sequence[np.ndarray],
    windows: Sequence[Window],
    rows: np.ndarray,
    *,
    likeliest: int,
    kept: int,
    longest: int,
) -> Spans:
    """The `kept` best spans of each row, of at most `longest` tokens, from each window's `likeliest` starts and ends.

    `logits` are `(length, 2)` for each window, `rows` the number of each window's row.
    """
    by_length = np.argsort([len(window.starts) for window in windows])
    blocks = [by_length[i : i + WINDOWS_AT_ONCE] for i in range(0, len(windows), WINDOWS_AT_ONCE)]
    parts = [
        _best_of_windows([logits[i] for i in block], [windows[i] for i in block], likeliest, kept, longest)
        for block in blocks
    ]
    row = np.concatenate([rows[block[window]] for block, (window, _, _) in zip(blocks, parts, strict=True)])
    characters, scores = (np.concatenate(column) for column in list(zip(*parts, strict=True))[1:])
    order = np.lexsort((characters[:, 0], -scores.sum(1), row))
    row = row[order]
    best = np.arange(len(row)) - np.searchsorted(row, row) < kept
    return Spans(row=row[best], characters=characters[order[best]], logits=scores[order[best]])


def null_logits(logits: Sequence[np.ndarray], rows: np.ndarray, *, count: int) -> np.ndarray:
    """S.C and E.C `(count, 2)` of the window in which their sum, the score of no answer, is least (section 4.3)."""
    first = np.array([row_logits[0] for row_logits in logits], dtype=np.float64)
    order = np.lexsort((first.sum(1), rows))
    return first[order[np.searchsorted(rows[order], np.arange(count))]]


def label_logits(
    logits: Sequence[np.ndarray], labels: Sequence[tuple[int, int] | None], rows: np.ndarray, *, count: int
) -> np.ndarray:
    """The sum of both logits of each row's labelled span `(count,)`, the highest of its windows; minus infinity where
    no window has it.
    """
    label_sums = np.full(count, -np.inf)
    for window_logits, label, row in zip(logits, labels, rows.tolist(), strict=True):
        if label is not None and min(label) > 0:  # 0, the first token, is the label of no answer
            label_sums[row] = max(
                label_sums[row], float(window_logits[label[0], 0]) + float(window_logits[label[1], 1])
            )
    return label_sums


def _best_of_windows(
    logits: Sequence[np.ndarray], windows: Sequence[Window], likeliest: int, kept: int, longest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(window, characters `(spans, 2)`, logits `(spans, 2)`) of up to `kept` spans of each window."""
    length = max(len(window.starts) for window in windows)
    start = np.full((len(windows), length), -np.inf, dtype=np.float32)
    end = start.copy()
    characters = np.zeros((2, len(windows), length), dtype=np.int64)
    for i, (window_logits, window) in enumerate(zip(logits, windows, strict=True)):
        size = len(window.starts)
        part = window_logits[window.place : window.place + size]
        start[i, :size] = np.where(window.owned, part[:, 0], -np.inf)
        end[i, :size] = part[:, 1]
        characters[:, i, :size] = window.starts, window.ends
    starts, ends = _top(start, likeliest), _top(end, likeliest)
    sums = np.take_along_axis(start, starts, 1)[:, :, None] + np.take_along_axis(end, ends, 1)[:, None, :]
    tokens = ends[:, None, :] - starts[:, :, None]
    sums[(tokens < 0) | (tokens >= longest)] = -np.inf
    flat = sums.reshape(len(windows), -1)
    best = _top(flat, kept)
    which, rank = np.nonzero(np.isfinite(np.take_along_axis(flat, best, 1)))
    pair = best[which, rank]
    first = starts[which, pair // ends.shape[1]]
    last = ends[which, pair % ends.shape[1]]
    spans = np.column_stack([characters[0, which, first], characters[1, which, last]])
    return which, spans, np.column_stack([start[which, first], end[which, last]]).astype(np.float64)


def _top(values: np.ndarray, count: int) -> np.ndarray:
    """The indices `(rows, count)` of the largest values of each row, unordered."""
    if values.shape[1] <= count:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(-values, count, axis=1)[:, :count]
