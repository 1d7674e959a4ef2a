"""Tests whether two runs, or two groups of seeds, differ significantly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.analysis.comparison import Changed, Comparison
from finetune.data.messages import noun, so_many
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.significance import RESAMPLES, Difference, Resampled, holm, mcnemar
from finetune.metrics.sums import Counted
from finetune.runs.folder import RunFolder
from finetune.runs.lineage import Lineage
from finetune.runs.predictions import read_predictions
from finetune.runs.recipe_diff import short_settings
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.seeds import Summary, differing_settings, paired, same_seeds, shared_encoders
from finetune.runs.verdict import FEW_ROWS, shortfall
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import row_of_line
from finetune.task_types.resampling import difference_of, resampled_metrics
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.types import type_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison: its runs, which differ only in seeds, and the predictions of each for the same rows."""

    records: Sequence[RunRecord]
    answers: Sequence[Sequence[Answer]]


def compare_runs(
    a: Sequence[RunFolder],
    b: Sequence[RunFolder],
    *,
    split: str | None = None,
    task: Task | None = None,
    names: tuple[str, str] | None = None,
    letters: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Compares the saved predictions of two groups of runs, each of which differ only in seeds.

    Runs after the first without predictions are left out, with a note. `names` are those of the groups in messages,
    `letters` in notes.
    `task` is needed for a task in a file, since code named by a run's folder is not executed. Raises UserError for runs
    of different tasks or rows, and if predictions are not available.
    """
    names, several = names or (a[0].path.name, b[0].path.name), len(a) > 1 or len(b) > 1
    folders = [[some[0], *filter(_has_predictions, some[1:])] for some in (a, b)]
    first = [load_record(some[0].record_file) for some in folders]
    if first[0].task != first[1].task:
        raise UserError(
            f"{names[0]} is a run of {first[0].task}, {names[1]} of {first[1].task}", "Compare runs of one task"
        )
    if {folder.path for folder in a} & {folder.path for folder in b}:
        same = "are the same run" + ", or differ only in seeds" * several
        raise UserError(f"{names[0]} and {names[1]} {same}", "Name another" + ", or leave out `seeds`" * several)
    split = split or first[0].first_split
    if split not in first[0].scores or split not in first[1].scores:
        both = [name for name in first[0].scores if name in first[1].scores]
        way_out = f"Choose one of {', '.join(both)}" if both else "They have no split in common"
        raise UserError(f"one of the runs was not scored on '{split}'", way_out)
    task = trained_on(folders[0][0], task=task)
    rows, left = _side(task, folders[0], split, rows=None)
    _, right = _side(task, folders[1], split, rows=rows)
    notes = _notes({letters[0]: left, letters[1]: right}, split=split, units=_units(task, rows, left))
    if left_out := len(a) + len(b) - sum(map(len, folders)):
        notes.append(f"seeds left out because their predictions are not available: {left_out}")
    return _compared(task, rows, left, right, split=split, notes=notes)


def _has_predictions(folder: RunFolder) -> bool:
    return any(folder.path.glob("predictions-*.parquet"))


def _side(
    task: Task, folders: Sequence[RunFolder], split: str, *, rows: Sequence[Row] | None
) -> tuple[Sequence[Row], Side]:
    """The rows and the predictions of each run. Raises UserError if a run predicted rows other than `rows`."""
    answers = []
    for folder in folders:
        lines = read_predictions(folder.predictions(split))
        here = [row_of_line(task, line, folder.path) for line in lines]
        if rows is not None and [*map(_facts, here)] != [*map(_facts, rows)]:
            raise UserError(f"{folder.path}: {_unlike(rows, here)}", "Compare runs that predicted the same rows")
        rows = here
        answers.append([Answer(value=line["prediction"], probabilities=line["probabilities"]) for line in lines])
    assert rows is not None  # there is at least one folder
    return rows, Side(records=[load_record(folder.record_file) for folder in folders], answers=answers)


def _facts(row: Row) -> tuple[Any, ...]:
    """What two runs must agree on; other fields of a row may have the name of a prediction's, such as `start`."""
    return row.id, row.input, row.gold


def _unlike(rows: Sequence[Row], others: Sequence[Row]) -> str:
    """How the rows differ from the first side's, in words."""
    if len(rows) != len(others):
        return f"its {so_many(len(others))} {noun(len(others), 'is', 'are')} not the {len(rows):,} of the other run"
    index = next(i for i, (one, other) in enumerate(zip(rows, others, strict=True)) if _facts(one) != _facts(other))
    return f"its row {index + 1} (id {others[index].id!r}) differs from that of the other run"


def _notes(sides: Mapping[str, Side], *, split: str, units: tuple[int, str]) -> list[str]:
    left, right = sides.values()
    notes = _shortfalls(sides, split)
    if left.records[0].data != right.records[0].data:
        notes.append("the runs were trained on different data; they predicted the same rows")
    objectives = [side.records[0].options.get("objective") for side in (left, right)]
    if objectives[0] != objectives[1]:
        notes.append(
            f"{objectives[0]} and {objectives[1]} predict from different context, so perplexities do not compare"
        )
    for name, side in sides.items():
        notes += [f"{name}: {note}"] if (note := shared_encoders(side.records)) else []
    notes += _lineages({name: side.records[0].lineage for name, side in sides.items()})
    if units[0] < FEW_ROWS:
        notes.append(f"only {so_many(*units)}: the bootstrap's interval is too narrow for so few, most of all for F1")
    if len(left.records) < 2 or len(right.records) < 2:
        notes.append("one seed on a side: this compares models, not training methods")
    elif min(len(left.records), len(right.records)) == 2:
        notes.append("two seeds on a side: use 3 or more, as the interval of two is too wide to tell anything")
    return notes


def _queries(task: Task, rows: Sequence[Row], side: Side) -> int:
    """The number of queries that a ranking is scored by; 0 for another task, which is scored by rows."""
    kind = type_of(task)
    if kind is None or not kind.ranked:
        return 0
    return next(iter(task.sums(side.answers[0], rows).values())).size


def _units(task: Task, rows: Sequence[Row], side: Side) -> tuple[int, str]:
    """How many of what are drawn again."""
    queries = _queries(task, rows, side)
    return (queries, "query") if queries else (len(rows), "row")


def _shortfalls(sides: Mapping[str, Side], split: str) -> list[str]:
    """A line on the sides that failed, or are worse than their best baseline."""
    found = {name: shortfall(side.records, split=split) for name, side in sides.items()}
    headline = next(iter(sides.values())).records[0].headline
    if words := [f"{name}: {words}" for name, words in found.items() if words]:
        return ["; ".join(words) + f" ({split} {headline}): a difference to such a run says little"]
    return []


def _lineages(lineages: Mapping[str, Lineage | None]) -> list[str]:
    """From what each side's first run started, where these are encoders of different runs, and not only in seeds."""
    a, b = lineages.values()
    if (a and a.but_seeds) == (b and b.but_seeds):
        return []
    return [f"{name}: the encoder is {side.words}" for name, side in lineages.items() if side is not None]


def _compared(
    task: Task, rows: Sequence[Row], left: Side, right: Side, *, split: str, notes: Sequence[str]
) -> Comparison:
    a, b = ([resampled_metrics(task, answers, rows) for answers in side.answers] for side in (left, right))
    differences = {
        name: _difference(task.metric(name), *([each[name] for each in side] for side in (a, b))) for name in a[0]
    }
    exact = next((metric.name for metric in task.metrics if metric.per_row), "")
    alone = [side[0].get(exact) for side in (a, b)] if len(a) == len(b) == 1 else []
    hits = [each for each in alone if isinstance(each, Counted)]
    kind = type_of(task)
    return Comparison(
        a=[record.id for record in left.records],
        b=[record.id for record in right.records],
        task=task.name,
        shape="" if kind is None else kind.name,
        split=split,
        rows=len(rows),
        metrics={name: task.metric(name) for name in differences},
        differences=differences,
        by_seed=_by_seed(task, left, right, a, b),
        holm=dict(zip(differences, holm([each.p for each in differences.values()]), strict=True)),
        mcnemar=mcnemar(*(each.counts[:, 0] > 0 for each in hits)) if len(hits) == 2 else None,
        changed=_changed(task, rows, left.answers[0], right.answers[0]),
        notes=notes,
        queries=_queries(task, rows, left),
    )


def _by_seed(
    task: Task, left: Side, right: Side, a: Sequence[Mapping[str, Resampled]], b: Sequence[Mapping[str, Resampled]]
) -> dict[str, Summary]:
    """For each metric the difference over pairs of runs with the same seeds, their encoders' runs included."""
    pairs = [(a[i], b[j]) for i, j in same_seeds(left.records, right.records)]
    if len(pairs) < 2:
        return {}
    return {
        name: paired([(before[name].score, after[name].score) for before, after in pairs], task.metric(name))
        for name in a[0]
    }


def _difference(metric: Metric, a: Sequence[Resampled], b: Sequence[Resampled]) -> Difference:
    quick = all(isinstance(each, Counted) for each in (*a, *b))
    return difference_of(metric, a, b, resamples=RESAMPLES if quick else RESAMPLES // 10)


def _changed(task: Task, rows: Sequence[Row], a: Sequence[Answer], b: Sequence[Answer]) -> list[Changed]:
    """The rows that the first run of only one side has right."""
    labels = task.labels_of(rows)
    right = _right(task, rows, labels, [a, b])
    return [
        Changed(
            better="a" if right[0][index] else "b",
            row=asdict(rows[index]),
            gold=labels[index].value,
            a=a[index].value,
            b=b[index].value,
        )
        for index in np.flatnonzero(right[0] != right[1]).tolist()
    ]


def _right(
    task: Task, rows: Sequence[Row], labels: Sequence[Answer], sides: Sequence[Sequence[Answer]]
) -> tuple[np.ndarray, ...]:
    """Which rows each side has right `(rows,)`: those whose counts equal the label's in the first metric with counts.

    All are counted together, since counts may depend on the set of labels. None where rows are scored in groups.
    """
    if task.groups(rows) is not None:
        return tuple(np.zeros(len(rows), dtype=bool) for _ in sides)
    every = [answer for answers in (labels, *sides) for answer in answers]
    found = next(iter(task.sums(every, list(rows) * (1 + len(sides))).values()), None)
    if found is None:
        return tuple(np.zeros(len(rows), dtype=bool) for _ in sides)
    perfect, *given = np.split(found.counts, 1 + len(sides))
    return tuple(np.isclose(each, perfect).all(1) for each in given)


MOST_SIDES = len(ascii_uppercase)


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """What `finetune.compare` returns for three or more runs: each of the others against the first, which is A.

    Example: `finetune.compare(run, other, third).frame`

    Attributes:
        runs: The ids of each side's runs, by letter.
        settings: The settings in which the sides differ, by letter.
        pairs: The comparison of A with each of the others.
        holm: For each of these, by metric, p adjusted for all tests.
        task: The task of all runs.
        split: The split that was compared.
        rows: The number of its rows.
        notes: What to take into account.
    """

    runs: dict[str, Sequence[str]]
    settings: dict[str, str]
    pairs: Sequence[Comparison]
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

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each other side and metric; scores as computed, 0.843 for 84.3 points."""
        import pandas as pd

        rows = [
            (side, name, one.a, one.b, one.value, *(one.interval or (None, None)), one.p, adjusted[name])
            for side, pair, adjusted in zip(list(self.runs)[1:], self.pairs, self.holm, strict=True)
            for name, one in pair.differences.items()
        ]
        columns = ["side", "metric", "first", "score", "difference", "low", "high", "p", "p_holm"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self.runs)} sides on {so_many(self.rows)} of {self.split} of {self.task}>"


def compare_several(
    sides: Sequence[Sequence[RunFolder]], *, split: str | None = None, task: Task | None = None, names: Sequence[str]
) -> Comparisons:
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
    return Comparisons(
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
