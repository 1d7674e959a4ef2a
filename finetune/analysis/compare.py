"""Tests whether two runs, or two groups of seeds, differ significantly, from their saved predictions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.messages import noun, so_many
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.metrics.metric import Counted, Metric, find_metric
from finetune.metrics.significance import RESAMPLES, Difference, holm, mcnemar
from finetune.runs.folder import RunFolder, read_predictions
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.seeds import shared_encoders
from finetune.runs.verdict import FEW_ROWS, shortfall
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import row_of_line
from finetune.task_types.resampling import difference_of, resampled_metrics
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task

if TYPE_CHECKING:
    import pandas as pd

MOST_SIDES = len(ascii_uppercase)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The result of `finetune.compare`; of three runs or more a list of them, each of another run with the first.

    Example: `finetune.compare(run, other).frame`

    Attributes:
        a: The ids of the first side's runs.
        b: The ids of the second side's runs.
        letter: The letter of the second side: B, or C and so on of a third.
        task: The task of all runs.
        split: The split that was compared.
        rows: The number of its rows.
        metrics: How the scores of each are shown and compared.
        differences: For each metric the scores of both sides, their difference, its 95 % interval and p.
        holm: For each metric p adjusted for the number of metrics, and of sides.
        mcnemar: p of McNemar's exact test, where rows are right or wrong.
        changed: The rows that only the first run of one side has right: `better` names the side, then `id`, `text`,
            `label`, and the predictions of `a` and `b`.
        notes: What to take into account.
        groups: Groups of rows that are scored together, as the passages of a query; 0 where each row is scored alone.
    """

    a: Sequence[str]
    b: Sequence[str]
    letter: str
    task: str
    split: str
    rows: int
    metrics: Mapping[str, Metric]
    differences: dict[str, Difference]
    holm: dict[str, float]
    mcnemar: float | None
    changed: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    groups: int = 0

    @property
    def sides(self) -> str:
        """`A is 5f0c2d6e1a, B is 9a1b77c2d0 and 2 more`."""
        named = [ids[0] + f" and {len(ids) - 1} more" * (len(ids) > 1) for ids in (self.a, self.b)]
        return f"A is {named[0]}, {self.letter} is {named[1]}"

    @property
    def counted(self) -> str:
        """`480 rows`, or `120 groups (480 rows)`."""
        rows = so_many(self.rows)
        return f"{so_many(self.groups, 'group')} ({rows})" if self.groups else rows

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        drawn = "groups" if self.groups else "rows"
        change = f"{self.letter} - A"
        return ["metric", "A", self.letter, change, "95 % interval", "p", "p (Holm)", f"{drawn} needed (80 % power)"]

    @property
    def cells(self) -> list[list[str]]:
        """For each metric both sides, the difference, its interval and p, and the rows needed to detect it."""
        lines = []
        for name, test in self.differences.items():
            metric = self.metrics[name]
            needed = f"{test.rows_needed:,}" if test.rows_needed is not None else "more seeds" * bool(test.value)
            scores = [
                *map(metric.shown, (test.a, test.b)),
                metric.signed(test.value),
                metric.signed_ends(test.interval),
            ]
            lines.append([metric.heading, *scores, f"{test.p:.4f}", f"{self.holm[name]:.4f}", needed])
        return lines

    @property
    def tests(self) -> str:
        """How p and intervals were computed, in sentences."""
        drawn = "groups" if self.groups else "rows"
        exact = "" if self.mcnemar is None else f"McNemar's exact test: p {self.mcnemar:.4f}. "
        return (
            f"{exact}p and interval: paired bootstrap over {drawn} and seeds. p (Holm): adjusted for all tests, of "
            f"metrics and sides. {drawn.capitalize()} needed: for 80 % power at a level of 5 %."
        )

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each metric; scores as computed, 0.843 for 84.3 points."""
        import pandas as pd

        rows = [
            (name, test.a, test.b, test.value, *(test.interval or (None, None)), test.p, self.holm[name])
            for name, test in self.differences.items()
        ]
        return pd.DataFrame(rows, columns=["metric", "a", "b", "difference", "low", "high", "p", "p_holm"])

    def __repr__(self) -> str:
        name, first = next(iter(self.differences.items()))
        points = self.metrics[name].signed(first.value)
        return f"<Comparison on {so_many(self.rows)} of {self.split} of {self.task}: {name} {points}, p {first.p:.4f}>"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison: its runs, which differ only in seeds, and the predictions of each for the same rows."""

    letter: str
    records: Sequence[RunRecord]
    rows: Sequence[Row]
    answers: Sequence[Sequence[Answer]]


def compare_runs(
    a: Sequence[RunFolder],
    b: Sequence[RunFolder],
    *,
    split: str | None = None,
    task: Task | None = None,
    names: tuple[str, str] | None = None,
    letter: str = "B",
) -> Comparison:
    """Compares the saved predictions of two groups of runs; the runs of a group differ only in seeds.

    Runs after the first without predictions are left out, with a note. `names` are the groups' in messages, `letter`
    is the second group's in notes. `task` is needed for a task in a file, since code named by a run's folder is not
    executed. Raises UserError for runs of different tasks or rows, and if predictions are not available.
    """
    names = names or (a[0].path.name, b[0].path.name)
    folders = [
        [group[0], *(run for run in group[1:] if any(run.path.glob("predictions-*.parquet")))] for group in (a, b)
    ]
    split = _common_split(folders, names, split, several=len(a) > 1 or len(b) > 1)
    task = trained_on(folders[0][0], task=task)
    left = _side(task, folders[0], split, "A")
    right, rows = _side(task, folders[1], split, letter, like=left), left.rows
    scored = [[resampled_metrics(task, answers, rows) for answers in side.answers] for side in (left, right)]
    sides = {name: [[metrics[name] for metrics in side] for side in scored] for name in scored[0][0]}
    metrics = {name: find_metric(name, task.metrics) for name in sides}
    differences = {}
    for name, pair in sides.items():
        is_fast = all(isinstance(metric, Counted) for side in pair for metric in side)
        resamples = RESAMPLES if is_fast else RESAMPLES // 10
        differences[name] = difference_of(metrics[name], *pair, resamples=resamples)
    exact = next((metric.name for metric in task.metrics if metric.per_row), "")
    alone = [metric for side in sides.get(exact, ()) if len(side) == 1 for metric in side]
    hits = [metric.counts[:, 0] > 0 for metric in alone if isinstance(metric, Counted)]
    sums = next(iter(task.sums(left.answers[0], rows).values()), None)
    groups = 0 if sums is None or sums.size == len(rows) else sums.size
    notes = [*_notes(left, right, split, *((groups, "group") if groups else (len(rows), "row")))]
    if left_out := len(a) + len(b) - sum(map(len, folders)):
        notes.append(f"seeds left out because their predictions are not available: {left_out}")
    return Comparison(
        a=[record.id for record in left.records], b=[record.id for record in right.records], letter=letter,
        task=task.name, split=split, rows=len(rows), metrics=metrics, differences=differences,
        holm=dict(zip(differences, holm([difference.p for difference in differences.values()]), strict=True)),
        mcnemar=mcnemar(*hits) if len(hits) == 2 else None, changed=_changed(task, left, right), notes=notes,
        groups=groups,
    )  # fmt: skip


def _common_split(
    folders: Sequence[Sequence[RunFolder]], names: tuple[str, str], split: str | None, *, several: bool
) -> str:
    """The split to compare. Raises UserError for runs of two tasks, the same runs, and a split that one side lacks."""
    first, second = (load_record(group[0].record_file) for group in folders)
    if first.task != second.task:
        raise UserError(f"{names[0]} is a run of {first.task}, {names[1]} of {second.task}", "Compare runs of one task")
    paths, others = ({folder.path for folder in group} for group in folders)
    if paths & others:
        same = "are the same run" + ", or differ only in seeds" * several
        raise UserError(f"{names[0]} and {names[1]} {same}", "Name another" + ", or leave out `seeds`" * several)
    split, both = split or first.first_split, [name for name in first.scores if name in second.scores]
    if split not in both:
        way_out = f"Choose one of {', '.join(both)}" if both else "They have no split in common"
        raise UserError(f"one of the runs was not scored on '{split}'", way_out)
    return split


def _side(task: Task, folders: Sequence[RunFolder], split: str, letter: str, like: Side | None = None) -> Side:
    """The rows and the predictions of each run. Raises UserError if a run predicted other rows than one before."""
    answers, rows = [], None if like is None else like.rows
    for folder in folders:
        lines = read_predictions(folder.predictions(split))
        predicted = [row_of_line(task, line, folder.path) for line in lines]
        if rows is not None and (unlike := _unlike(rows, predicted)):
            raise UserError(f"{folder.path}: {unlike}", "Compare runs that predicted the same rows")
        rows = predicted
        answers.append([Answer(value=line["prediction"], probabilities=line["probabilities"]) for line in lines])
    records = [load_record(folder.record_file) for folder in folders]
    return Side(letter=letter, records=records, rows=rows or [], answers=answers)


def _unlike(rows: Sequence[Row], others: Sequence[Row]) -> str:
    """How the rows differ from the first side's, in words; may be empty."""
    if len(rows) != len(others):
        return f"its {so_many(len(others))} {noun(len(others), 'is', 'are')} not the {len(rows):,} of the other run"
    for number, (row, other) in enumerate(zip(rows, others, strict=True), start=1):
        # Not all fields: a prediction's may have the name of a row's, such as `start`.
        if (row.id, row.input, row.gold) != (other.id, other.input, other.gold):
            return f"its row {number} (id {other.id!r}) differs from that of the other run"
    return ""


def _notes(left: Side, right: Side, split: str, count: int, unit: str) -> Iterator[str]:
    sides, first, second = (left, right), left.records[0], right.records[0]
    failures = [f"{side.letter}: {words}" for side in sides if (words := shortfall(side.records, split=split))]
    if words := "; ".join(failures):
        yield f"{words} ({split} {first.headline}): a difference to such a run says little"
    if first.data != second.data:
        yield "the runs were trained on different data; they predicted the same rows"
    objectives = [record.options.get("objective") for record in (first, second)]
    if objectives[0] != objectives[1]:
        yield f"{objectives[0]} and {objectives[1]} predict from different context, so perplexities do not compare"
    yield from (f"{side.letter}: {note}" for side in sides if (note := shared_encoders(side.records)))
    lineages = {side.letter: side.records[0].lineage for side in sides}
    before, after = (lineage and lineage.settings_without_seeds for lineage in lineages.values())
    if before != after:
        yield from (f"{letter}: the encoder is {lineage.words}" for letter, lineage in lineages.items() if lineage)
    if count < FEW_ROWS:
        yield f"only {so_many(count, unit)}: the bootstrap's interval is too narrow for so few, most of all for F1"
    fewest = min(len(side.records) for side in sides)
    if fewest == 1:
        yield "one seed on a side: this compares models, not training methods"
    elif fewest == 2:
        yield "two seeds on a side: use 3 or more, as the interval of two is too wide to tell anything"


def _changed(task: Task, left: Side, right: Side) -> list[dict[str, Any]]:
    """The rows that only one side's first run has right: by the first metric with counts, which then equal the label's.

    All are counted together, since counts may depend on the set of labels. Empty for rows that are scored in groups.
    """
    rows, a, b = left.rows, left.answers[0], right.answers[0]
    labels = task.labels_of(rows)
    sums = {} if task.scored_by else task.sums([*labels, *a, *b], list(rows) * 3)
    if not sums:
        return []
    perfect, *counts = np.split(next(iter(sums.values())).counts, 3)
    right_a, right_b = (np.isclose(of_side, perfect).all(1) for of_side in counts)
    return [
        {"better": "a" if right_a[at] else "b", "id": rows[at].id, "text": rows[at].input, "label": labels[at].value,
         "a": a[at].value, "b": b[at].value}
        for at in np.flatnonzero(right_a != right_b).tolist()
    ]  # fmt: skip


def compare_several(
    sides: Sequence[Sequence[RunFolder]], *, split: str | None = None, task: Task | None = None, names: Sequence[str]
) -> list[Comparison]:
    """Compares the saved predictions of the first group of runs with each other group, as `compare_runs`.

    p is adjusted for all tests of all pairs. The first side is chosen before its scores are looked at, so that p needs
    no correction for a choice. Raises UserError as `compare_runs` does, for more sides than letters, and for two sides
    with runs in common.
    """
    if len(sides) > MOST_SIDES:
        raise UserError(f"{len(sides)} runs are more than {MOST_SIDES}", "Compare fewer: finetune ls TASK --board")
    seen: dict[object, str] = {}
    for side, name in zip(sides, names, strict=True):
        paths = {folder.path.resolve() for folder in side}
        if shared := next((seen[path] for path in paths if path in seen), None):
            raise UserError(f"{shared} and {name} have runs in common", "Name each run, or group of seeds, once")
        seen |= dict.fromkeys(paths, name)
    pairs = [
        compare_runs(sides[0], other, split=split, task=task, names=(names[0], name), letter=letter)
        for letter, other, name in zip(ascii_uppercase[1:], sides[1:], names[1:], strict=False)
    ]
    adjusted = iter(holm([test.p for pair in pairs for test in pair.differences.values()]))
    return [replace(pair, holm={name: next(adjusted) for name in pair.differences}) for pair in pairs]
