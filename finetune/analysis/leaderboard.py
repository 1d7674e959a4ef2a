"""A leaderboard of a task from records: a line a model and settings, each compared with the best.

Only runs that were scored on the same rows are on one board: a task has a board for each version of its data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import PurePath
from statistics import fmean
from typing import Any

from finetune.analysis.form import Form
from finetune.data.messages import noun, so_many
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Difference, SketchedScores, holm, least_p, sketched_difference
from finetune.metrics.spacing import Interval
from finetune.runs.lineage import PREFIX, SEEDS
from finetune.runs.recipe_diff import applied, short_settings
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import Margin
from finetune.runs.seeds import by_setting, differing_settings, mean_score, shared_encoders, summarised
from finetune.runs.verdict import FEW_ROWS, Verdict, baseline_words, verdict_of
from finetune.runs.without_folders import names_only

FP32 = 4  # bytes of a weight
OBJECTIVE = "objective"  # of training on text
OF_SEEDS = "†"
LEAST_P = 0.0001  # that is shown
NAMES = ("data", "", "model", "settings")  # columns that are not numbers
UNTESTED = "not tested against"
AGAINST = {"better": "better than", "worse": "worse than", "unclear": "unclear against", "alone": ""}


@dataclass(frozen=True, kw_only=True)
class BoardLine:
    """Runs that differ only in seeds. Scores are of the board's split and metric, as computed.

    `of_seeds`: the interval, or the difference, counts the chance of seeds alone, since the records have no interval
    over rows. `difference` is this line minus the best one; None of the best, and where nothing can be told. `p_holm`
    is adjusted for all pairs of lines.
    """

    records: Sequence[RunRecord]
    settings: str
    verdict: Verdict
    interval: Interval | None
    of_seeds: bool
    difference: Difference | None = None
    difference_of_seeds: bool = False
    p_holm: float | None = None

    @property
    def model(self) -> str:
        """The encoder's name, and from which runs it comes."""
        first = self.records[0]
        return str(names_only(first.model if first.lineage is None else first.lineage.checkpoint))

    @property
    def untested(self) -> bool:
        """Whether nothing tells if a line that is no worse than the baseline, and not equal to it, is better."""
        found = self.verdict
        return found.level == "unclear" and found.difference_interval is None and found.difference != 0


@dataclass(frozen=True, kw_only=True)
class Board:
    """The lines of runs that were scored on the same rows, the best first. `pairs` of them were tested."""

    lines: Sequence[BoardLine]
    split: str
    metric: Metric
    pairs: int

    @property
    def records(self) -> list[RunRecord]:
        """The runs of all lines."""
        return [record for line in self.lines for record in line.records]

    @property
    def rows(self) -> int:
        """The rows that all were scored on."""
        return self.records[0].rows.get(self.split, 0)

    @property
    def folds(self) -> bool:
        """Whether runs of a line are scored on rows of their own each."""
        return any(len({record.data for record in line.records}) > 1 for line in self.lines)

    @property
    def title(self) -> str:
        """What all lines have in common: `1,000 training rows, f1 on 408 of dev; all with limit=1000`."""
        train = sorted({_train_rows(record) for record in self.records})
        counts = " to ".join(f"{count:,}" for count in dict.fromkeys([train[0], train[-1]]))
        objective, folds = self.records[0].options.get(OBJECTIVE), len({record.data for record in self.records})
        first, *others = applied([line.records[0] for line in self.lines])
        same = {
            key: value
            for key, value in first.items()
            if key not in SEEDS and not key.startswith((PREFIX, "options."))
            and all(other.get(key) == value for other in others)
        }  # fmt: skip
        common = ", ".join(short_settings(names_only(same)))
        facts = [
            *[f"{counts} training {noun(train[-1], 'row')}"] * bool(train[-1]),
            f"{self.metric.heading} on {self.rows:,} of {self.split}" + f" in {folds} folds" * (folds > 1),
            *[f"objective {objective}"] * bool(objective),
        ]
        return ", ".join(facts) + f"; all with {common}" * bool(common)

    @property
    def notes(self) -> list[str]:
        """What to know of the numbers."""
        lines = self.lines
        margins = [margin for record in self.records if (margin := record.margins.get(self.split)) is not None]
        untold = "a single run, and no interval over rows in the records"
        if self.folds:
            untold = "each fold has rows of its own"
        of_seeds = [line.of_seeds or (line.difference and line.difference_of_seeds) for line in lines]
        notes = [
            "to the best: the line minus the best one, with its 95 % interval; p (Holm): adjusted for all pairs of "
            "lines, since the best was chosen by these scores. Intervals count the chance of rows and of seeds"
            * bool(self.pairs),
            f"the best was chosen on {self.split}, so its score there is a little too good" * (len(lines) > 1),
            f"{OF_SEEDS} counts the chance of seeds alone, for these rows: the records have no interval over rows"
            * any(of_seeds),
            f"no difference to the best is tested where there is nothing to tell it by: {untold}"
            * any(line.difference is None for line in lines[1:]),
            "some records (of earlier versions, or of runs that have all rows right) do not say which chance of rows "
            "they share, so intervals of differences may be wider than needed; `finetune compare` reads predictions"
            * (bool(self.pairs) and any(one.interval is not None and not one.sketch for one in margins)),
            f"only {so_many(self.rows)} in {self.split}: intervals are too narrow for so few"
            * (0 < self.rows < FEW_ROWS),
            "one seed: such a line is a model, not a training method; another seed may score differently"
            * any(len(line.records) < 2 for line in lines),
            "trained on different devices, so seconds and rows/s do not compare (`finetune show RUN` names it)"
            * (len({record.device for record in self.records}) > 1),
        ]
        shared = [(PurePath(line.model).name, shared_encoders(line.records)) for line in lines]
        return [*filter(None, notes), *(f"{name}: {note}" for name, note in shared if note)]


def leaderboards(records: Sequence[RunRecord]) -> list[Board]:
    """A board for each data that runs of a task were scored on, the one with the most rows first."""
    boards: dict[Any, list[list[RunRecord]]] = {}
    for group in by_setting(records):
        first = group[0]
        rows = frozenset((record.data, record.rows.get(first.first_split)) for record in group)
        objective = first.options.get(OBJECTIVE)  # perplexities from other contexts do not compare
        key = (first.task_version, rows, first.first_split, first.headline, objective)
        boards.setdefault(key, []).append(group)
    return sorted(
        map(_board, boards.values()),
        key=lambda board: (max(map(_train_rows, board.records)), board.rows, len(board.lines)), reverse=True,
    )  # fmt: skip


def _train_rows(record: RunRecord) -> int:
    return record.rows.get("train", 0)


def _board(groups: Sequence[Sequence[RunRecord]]) -> Board:
    """The best group first. It was chosen by the scores that are tested, so p is adjusted for all pairs, not for those
    with the best.
    """
    first = groups[0][0]
    split, metric = first.first_split, first.metric(first.headline)
    judged = [verdict_of(group, split=split) for group in groups]
    ranked = sorted(
        zip(judged, groups, _settings([group[0] for group in groups]), strict=True),
        key=lambda line: metric.rank(line[0].score), reverse=True,
    )  # fmt: skip
    sides = [_sketched(group, metric) for _, group, _ in ranked]
    tested = {} if any(len({run.data for run in group}) > 1 for group in groups) else {
        pair: difference
        for pair in combinations(range(len(sides)), 2)
        if (difference := sketched_difference(sides[pair[0]], sides[pair[1]])) is not None
    }  # fmt: skip
    least = least_p(first.rows[split])  # sketches know no number of rows
    p_values = {pair: max(difference.p, least) for pair, difference in tested.items()}
    adjusted = dict(zip(tested, holm([*p_values.values()]), strict=True))
    lines = []
    for index, (verdict, group, settings) in enumerate(ranked):
        best, over_seeds = (0, index), summarised([run.score for run in group], metric).interval
        if (difference := tested.get(best)) is not None:
            interval = metric.possible_difference(difference.interval, around=difference.value)
            difference = replace(difference, p=p_values[best], interval=interval)
        lines.append(BoardLine(
            records=group, settings=settings, verdict=verdict, interval=verdict.interval or over_seeds,
            of_seeds=verdict.interval is None and over_seeds is not None, difference=difference,
            difference_of_seeds=difference is not None and not (sides[0].knows_rows and sides[index].knows_rows),
            p_holm=adjusted.get(best),
        ))  # fmt: skip
    return Board(lines=lines, split=split, metric=metric, pairs=len(tested))


def _sketched(group: Sequence[RunRecord], metric: Metric) -> SketchedScores:
    margins = [record.margins.get(record.first_split, Margin()) for record in group]
    return SketchedScores(
        scores=[record.score for record in group], intervals=[margin.interval for margin in margins],
        sketches=[margin.sketch for margin in margins], spacing=metric.spacing,
    )  # fmt: skip


def _settings(firsts: Sequence[RunRecord]) -> list[str]:
    """In what the settings of lines differ, in words, and from which run an encoder is:
    `encoder trained on simplewiki (updates=8000)`.
    """
    trained = [record for record in firsts if record.lineage is not None]
    earlier, words = iter(differing_settings(trained)), []
    for record, differing in zip(firsts, differing_settings(firsts), strict=True):
        own = {key: value for key, value in differing.items() if not key.startswith(PREFIX)}
        encoder = []
        if record.lineage is not None:
            prefixed = {key: value for key, value in next(earlier).items() if key.startswith(PREFIX)}
            theirs = ", ".join(short_settings({key.rpartition(PREFIX)[2]: value for key, value in prefixed.items()}))
            encoder = [f"encoder trained on {record.lineage.task}" + f" ({theirs})" * bool(theirs)]
        words.append(", ".join([*encoder, *short_settings(names_only(own))]))
    return words


def board_form(boards: Sequence[Board]) -> Form:
    """The lines below the data that they were scored on, the best first. Splits other than the first are columns."""
    every = [(board, line) for board in boards for line in board.lines]
    splits = dict.fromkeys(name for board, line in every for name in line.records[0].scores if name != board.split)
    titles = [board.title for board in boards]
    cells, numbers = [], []
    for board, title in zip(boards, titles, strict=True):
        for place, line in enumerate(board.lines, start=1):
            shown, number = _row(line, board, list(splits))
            data = title + f", data {number['data']}" * (titles.count(title) > 1)
            cells.append({"data": data, "": str(place), **shown})
            numbers.append(number)
    filled = [name for name in cells[0] if name in NAMES or any(row[name] for row in cells)]
    return Form(
        title=f"{boards[0].records[0].task}: {so_many(len(every), 'setting')}, "
        + so_many(sum(len(board.records) for board in boards), "run"),
        cells=[{name: row[name] for name in filled} for row in cells], numbers=numbers, left=len(NAMES), grouped=True,
        notes=[
            *[f"runs on {len(boards)} versions of the data are not compared with each other: each has its own best"]
            * (len(boards) > 1),
            *dict.fromkeys(note for board in boards for note in board.notes),
            *[f"{UNTESTED} a baseline: the records have no interval of the difference"]
            * any(line.untested for _, line in every),
            "MB: of the weights in fp32; seconds and rows/s: of training",
        ],
        behind=[
            f"{', '.join(filter(None, [line.model, line.settings]))}: {noun(len(line.records), 'run')} "
            + ", ".join(record.id for record in line.records)
            for _, line in every
        ],
    )  # fmt: skip


def _row(line: BoardLine, board: Board, splits: Sequence[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The cells of a line, and its numbers: scores and differences as computed, 0.843 for 84.3 points."""
    metric, tested, verdict, records, first = board.metric, line.difference, line.verdict, line.records, line.records[0]
    low, high = line.interval or (None, None)
    difference_low, difference_high = (tested and tested.interval) or (None, None)
    baseline, baseline_score, against = None, verdict.baseline_score, ""
    if verdict.baseline is not None and baseline_score is not None:
        baseline = baseline_words(verdict.baseline)
        how = "equal to" if not verdict.difference else UNTESTED if line.untested else AGAINST[verdict.level]
        against = f"{how} {baseline} {metric.shown(baseline_score)}"
    parameters, rate = first.parameters.get("all"), fmean(record.examples_per_second for record in records)
    megabytes = None if parameters is None else FP32 * parameters / 1e6
    times = [record.seconds["training"] for record in records if "training" in record.seconds]
    seconds, is_best, p_holm = fmean(times) if times else None, line is board.lines[0], line.p_holm
    others = {
        name: mean_score(records, name, metric.name)
        for name in splits if name in first.scores and name != board.split
    }  # fmt: skip
    chance = ("rows and seeds", "seeds")
    numbers = {
        "task": first.task, "data": first.data[:8], "train_rows": first.rows.get("train"), "split": board.split,
        "rows": board.rows, "metric": metric.name, "model": line.model, "settings": line.settings,
        "seeds": len(records), "score": verdict.score, "low": low, "high": high,
        "chance_of": line.interval and chance[line.of_seeds], "best": is_best,
        "difference": tested and tested.value, "difference_low": difference_low, "difference_high": difference_high,
        "difference_chance_of": tested and chance[line.difference_of_seeds], "p": tested and tested.p,
        "p_holm": p_holm, "baseline": baseline, "baseline_score": baseline_score, "verdict": verdict.level,
        **{f"{name}_score": others.get(name) for name in splits}, "parameters": parameters, "megabytes": megabytes,
        "seconds": seconds, "rows_per_second": rate, "runs": " ".join(record.id for record in records),
    }  # fmt: skip
    to_best = "best" * (is_best and len(board.lines) > 1)
    if tested is not None:
        ends = metric.signed_ends(tested.interval)
        to_best = metric.signed(tested.value) + f" ({ends})" * bool(ends) + OF_SEEDS * line.difference_of_seeds
    cells = {
        "model": line.model,
        "settings": line.settings,
        "seeds": str(len(records)),
        "score": metric.shown(verdict.score),
        "95 % interval": metric.ends(line.interval) + OF_SEEDS * line.of_seeds,
        "to the best": to_best,
        "p (Holm)": "" if p_holm is None else f"{p_holm:.4f}" if p_holm >= LEAST_P else f"<{LEAST_P}",
        "against baseline": against,
        **{name: metric.shown(others[name]) if name in others else "" for name in splits},
        "parameters": "" if parameters is None else f"{parameters:,}",
        "MB": "" if megabytes is None else f"{megabytes:.1f}",
        "seconds": "" if seconds is None else f"{seconds:,.0f}",
        "rows/s": f"{rate:,.0f}",
    }
    return cells, numbers
