"""The rows of a split as JSON for the page's script: as many as fit, the errors first."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from finetune.analysis.report.blocks import ShownRow
from finetune.data.characters import KINDS, SCRIPTS, census
from finetune.task_types.marked_text import Part, cut
from finetune.task_types.prediction_lines import SLICE
from finetune.task_types.view import View

MOST_NAMES = 2_000  # labels that rows can be filtered by
SCRIPT = "script"
LEAST = 0.02  # share of rows in another script than most, from which scripts are worth showing


@lru_cache(maxsize=8)
def _names(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, int]:
    counts = Counter(chain.from_iterable(pairs))
    return {name: place for place, (name, _) in enumerate(counts.most_common(MOST_NAMES))}


def names_of(view: View) -> Mapping[str, int]:
    """The place of each label that rows can be filtered by, the most frequent first."""
    return _names(tuple(pair for line in view.lines for pair in view.row_pairs(line)))


def slices_in(view: View) -> list[tuple[str, list[str]]]:
    """(name, value of each row) of what groups the rows: other columns of the data, and the script of their text."""
    names = [key for key in view.lines[0] if key.startswith(SLICE)] if view.lines else []
    found = [(cut(key.removeprefix(SLICE)), [str(line.get(key) or "") for line in view.lines]) for key in names]
    scripts = _scripts(view)
    others = len(scripts) - max(Counter(scripts).values(), default=0)
    return [*found, (SCRIPT, scripts)] if others >= LEAST * len(scripts) and others else found


def json_row(
    row: ShownRow, *, number: int, sort: float | None, length: int, pairs: Sequence[tuple[int, int]],
    slices: Sequence[int], suspect: bool,
    doubt: int | None,
) -> list[Any]:  # fmt: skip
    """A row as the script reads it; `sort` is its confidence or error, None where it has none. `doubt`
    is the row's place among all, 0 for the label that is believed least.
    """
    return [
        number, row.id, row.label, row.prediction, -1 if row.right is None else int(row.right),
        None if sort is None or not np.isfinite(sort) else round(sort, 4), length, list(row.facts),
        [_part(part) for part in row.parts], [*map(list, pairs)], list(slices), int(suspect),
        [[one.text, round(one.weight, 3)] for one in row.weights], doubt,
    ]  # fmt: skip


def fitting(rows: Iterator[list[Any]], most: int) -> list[list[Any]]:
    """The first rows whose JSON takes at most so many bytes."""
    kept, size = [], 0
    for row in rows:
        size += len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")) + 1
        if size > most:
            break
        kept.append(row)
    return kept


def _part(part: Part) -> list[Any]:
    return [part.name, *([one.text, one.mark, one.label] if one.mark else one.text for one in part.segments)]


def _scripts(view: View) -> list[str]:
    """The script of most letters of each row's text."""
    texts = ["".join(segment.text for part in view.parts(line) for segment in part.segments) for line in view.lines]
    counts = census(texts)[:, [KINDS.index(script) for script in SCRIPTS]]
    return [SCRIPTS[row.argmax()] if row.any() else "none" for row in counts]
