"""Three or more runs, or groups of seeds, on the same rows: each of the others against the first."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import Any

from finetune.analysis.compare import compare_runs
from finetune.analysis.comparison import SplitComparison
from finetune.errors import UserError
from finetune.metrics.significance import holm
from finetune.runs.folder import RunFolder
from finetune.runs.recipe_diff import short_settings
from finetune.runs.record_files import load_record
from finetune.runs.seeds import differing_settings
from finetune.task_types.task import Task

MOST_SIDES = len(ascii_uppercase)


@dataclass(frozen=True, kw_only=True)
class SeveralComparisons:
    """Result on one split: the runs of each side by letter, the settings in which they differ, the comparison of each
    other side with A, and for each of these by metric p adjusted for all tests (`holm`).
    """

    runs: dict[str, Sequence[str]]
    settings: dict[str, str]
    pairs: Sequence[SplitComparison]
    holm: Sequence[dict[str, float]]

    @property
    def task(self) -> str:
        """The task of all runs."""
        return self.pairs[0].task

    @property
    def split(self) -> str:
        """The split that was compared."""
        return self.pairs[0].split

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return self.pairs[0].rows

    @property
    def title(self) -> str:
        """The task, the number of rows, and what the others are compared with."""
        return f"{self.task}, {self.pairs[0].counted} of {self.split}; each is compared with A, the first named"

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        tests = ["to A", "95 % interval", "p", "p (Holm)", self.pairs[0].needed]
        return ["", "runs", "settings", "score", *tests]

    @property
    def cells(self) -> list[tuple[str, list[list[str]]]]:
        """For each metric its name, and a line for each side."""
        return [(self._heading(name), list(self._lines(name))) for name in self.pairs[0].differences]

    @property
    def tests(self) -> str:
        """How p and intervals were computed, in sentences."""
        count, (how, needed) = len(self.pairs) * len(self.pairs[0].differences), self.pairs[0].method
        return f"to A: the side minus A. {how} p (Holm): adjusted for the {count} tests of this table. {needed}"

    @property
    def notes(self) -> list[str]:
        """What to take into account, of all pairs."""
        return list(dict.fromkeys(note for pair in self.pairs for note in pair.notes))

    def as_json(self) -> dict[str, Any]:
        """The comparisons as JSON values."""
        found = [
            {"side": side, "metric": name, **asdict(one), "difference": one.value, "holm": adjusted[name]}
            for side, pair, adjusted in zip(list(self.runs)[1:], self.pairs, self.holm, strict=True)
            for name, one in pair.differences.items()
        ]
        facts = {"task": self.task, "split": self.split, "rows": self.rows, "against": "A"}
        return facts | {"runs": self.runs, "settings": self.settings, "differences": found, "notes": self.notes}

    def _heading(self, name: str) -> str:
        return name if self.pairs[0].metrics[name].greater_is_better else f"{name} (lower is better)"

    def _lines(self, name: str) -> Iterator[list[str]]:
        metric, first = self.pairs[0].metrics[name], self.pairs[0].differences[name]
        for number, (letter, ids) in enumerate(self.runs.items()):
            said = ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more"
            line = [letter, said, self.settings[letter]]
            if not number:
                yield [*line, metric.shown(first.a), *[""] * 5]
                continue
            pair, each = self.pairs[number - 1], self.pairs[number - 1].differences[name]
            needed = f"{each.rows_needed:,}" if each.rows_needed is not None else "more seeds" * bool(each.value)
            ends = " to ".join(map(metric.signed, each.interval or ()))
            p, adjusted = f"{each.p:.4f}", f"{self.holm[number - 1][name]:.4f}"
            yield [*line, metric.shown(pair.differences[name].b), metric.signed(each.value), ends, p, adjusted, needed]


def compare_several(
    sides: Sequence[Sequence[RunFolder]], *, split: str | None = None, task: Task | None = None, names: Sequence[str]
) -> SeveralComparisons:
    """Compares the saved predictions of the first group of runs with those of each other, as `compare_runs`.

    Which side is the first is chosen before the scores are looked at, so that p needs no correction for a choice.
    Raises UserError as `compare_runs` does, for more sides than letters, and for two sides of the same runs.
    """
    if len(sides) > MOST_SIDES:
        raise UserError(f"{len(sides)} runs are more than {MOST_SIDES}", "Compare fewer: finetune ls TASK --board")
    _require_different(sides, names)
    pairs = [
        compare_runs(
            sides[0], other, split=split, task=task, names=(names[0], name), letters=("A", ascii_uppercase[at])
        )
        for at, (other, name) in enumerate(zip(sides[1:], names[1:], strict=True), start=1)
    ]
    tests = [(at, name) for at, pair in enumerate(pairs) for name in pair.differences]
    adjusted = dict(zip(tests, holm([pairs[at].differences[name].p for at, name in tests]), strict=True))
    ids = [pairs[0].a, *(pair.b for pair in pairs)]
    firsts = [load_record(side[0].record_file) for side in sides]
    words = [", ".join(short_settings(one)) for one in differing_settings(firsts)]
    letters = ascii_uppercase[: len(sides)]
    return SeveralComparisons(
        runs=dict(zip(letters, ids, strict=True)),
        settings=dict(zip(letters, words, strict=True)),
        pairs=pairs,
        holm=[{name: adjusted[at, name] for name in pair.differences} for at, pair in enumerate(pairs)],
    )


def _require_different(sides: Sequence[Sequence[RunFolder]], names: Sequence[str]) -> None:
    seen: dict[object, str] = {}
    for side, name in zip(sides, names, strict=True):
        paths = {folder.path.resolve() for folder in side}
        if known := next((seen[path] for path in paths if path in seen), None):
            raise UserError(f"{known} and {name} have runs in common", "Name each run, or group of seeds, once")
        seen |= dict.fromkeys(paths, name)
