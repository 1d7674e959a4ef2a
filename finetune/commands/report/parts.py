"""Parts of the rows of a split, by labels, predictions, other columns and scripts: to filter by, and their scores."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import SplitView
from finetune.commands.report.text import NAME
from finetune.data.characters import KINDS, SCRIPTS, census
from finetune.metrics.row_means import mean_interval
from finetune.task_types.marked_text import cut
from finetune.task_types.prediction_lines import SLICE
from finetune.task_types.view import Line, View

MOST_NAMES = 2_000  # labels that rows can be filtered by
SCRIPT = "script"
LEAST_SHARE = 0.02  # share of rows in another script than most, from which scripts are worth showing


def names_of(view: View) -> Mapping[str, int]:
    """The place of each label that rows can be filtered by, the most frequent first."""
    counts = Counter(name for line in view.lines for pair in view.row_pairs(line) for name in pair)
    return {name: place for place, (name, _) in enumerate(counts.most_common(MOST_NAMES))}


def slices_in(view: View) -> list[tuple[str, list[str]]]:
    """(name, value of each row) of what groups the rows: other columns of the data, and the script of their text."""
    names = [key for key in view.lines[0] if key.startswith(SLICE)] if view.lines else []
    found = [(cut(key.removeprefix(SLICE)), [str(line.get(key) or "") for line in view.lines]) for key in names]
    scripts = _scripts(view)
    others = len(scripts) - max(Counter(scripts).values(), default=0)
    return [*found, (SCRIPT, scripts)] if others >= LEAST_SHARE * len(scripts) and others else found


@dataclass(frozen=True, kw_only=True)
class Slice:
    """What groups the rows: its name, its values, and the place of each row's value among them."""

    name: str
    values: Sequence[str]
    places: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What rows can be filtered by: the number of each label's name, and slices."""

    names: Mapping[str, int]
    slices: Sequence[Slice]

    def pairs(self, view: View, line: Line) -> list[tuple[int, int]]:
        """The numbers of (label, prediction) of a row; -1 for a name that cannot be filtered by."""
        return sorted({(self.names.get(a, -1), self.names.get(b, -1)) for a, b in view.row_pairs(line)})

    def listed(self, view: View) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """The labels and the predictions that occur, with their numbers."""
        every = [pair for line in view.lines for pair in view.row_pairs(line)]
        labels, predictions = ({pair[side] for pair in every} & set(self.names) for side in (0, 1))
        first, second = ([(name, self.names[name]) for name in sorted(some, key=str)] for some in (labels, predictions))
        return first, second


def filters_of(view: View) -> Filters:
    """The filters of a split's rows."""
    slices = []
    for name, given in slices_in(view):
        values = sorted(set(given))
        place_of = {value: place for place, value in enumerate(values)}
        slices.append(Slice(name=name, values=values, places=[place_of[value] for value in given]))
    return Filters(names=names_of(view), slices=slices)


def _scripts(view: View) -> list[str]:
    """The script of most letters of each row's text."""
    texts = ["".join(segment.text for part in view.parts(line) for segment in part.segments) for line in view.lines]
    counts = census(texts)[:, [KINDS.index(script) for script in SCRIPTS]]
    return [SCRIPTS[row.argmax()] if row.any() else "none" for row in counts]


FEWEST_ROWS = 10  # rows of a part whose score is worth a line


@dataclass(frozen=True, kw_only=True)
class PartScore:
    """The mean score of the rows with one value of a column, and of all other rows."""

    column: str
    value: str
    rows: int
    score: float
    interval: tuple[float, float] | None
    others: float


def parts_block(split: SplitView) -> Iterator[Block]:
    """A line per part with enough rows: its score with 95 % interval, next to that of all other rows."""
    scores, view = split.view.scores(), split.view
    parts = [one for name, some in slices_in(view) for one in part_scores(name, some, scores, bounded=view.bounded)]
    if not parts:
        return
    yield Block(
        title="Parts of the data",
        note=f"{view.measure[0].upper()}{view.measure[1:]} of parts with {FEWEST_ROWS} rows or more. Differences are "
        "not tested: of many parts some differ by chance.",
        table=TableBlock(
            columns=["part", "rows", "score", "95 % interval", "other rows"],
            rows=[_part_line(one, view.bounded) for one in parts],
            sorts=True,
        ),
    )


def part_scores(name: str, values: Sequence[str], scores: np.ndarray, *, bounded: bool) -> Iterator[PartScore]:
    """The parts with enough rows, the largest first; `scores` are `(rows,)`, at most 1 if `bounded`."""
    counts, found = Counter(values), np.array(values, object)
    if len(counts) < 2 or counts.most_common(2)[1][1] < FEWEST_ROWS:
        return
    for value, count in counts.most_common():
        inside = found == value
        if count < FEWEST_ROWS or (~inside).sum() < 2:
            continue
        yield PartScore(
            column=name,
            value=value,
            rows=count,
            score=float(scores[inside].mean()),
            interval=mean_interval(scores[inside], bounded=bounded),
            others=float(scores[~inside].mean()),
        )


def _part_line(one: PartScore, bounded: bool) -> list[str]:
    def shown(score: float) -> str:
        return f"{100 * score:.1f}" if bounded else f"{score:.3f}"

    return [
        f"{one.column} {cut(one.value or '(empty)', NAME)}", f"{one.rows:,}", shown(one.score),
        "–".join(map(shown, one.interval or ())), shown(one.others),
    ]  # fmt: skip
