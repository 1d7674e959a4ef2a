"""What the rows of a split can be filtered by: labels, predictions, other columns of the data, scripts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from finetune.data.characters import KINDS, SCRIPTS, census
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
