"""A leaderboard of a task from records: a line a model and settings, each compared with the best.

Only runs that were scored on the same rows are on one board: a task has a board for each version of its data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import PurePath
from statistics import fmean
from typing import Any

from finetune.analysis.form import Form
from finetune.data.messages import noun, so_many
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Difference, holm, least_p
from finetune.metrics.sketched import SketchedScores, sketched_difference
from finetune.metrics.spacing import Interval
from finetune.runs.lineage import PREFIX, SEEDS
from finetune.runs.recipe_diff import applied, short_settings
from finetune.runs.record import RunRecord
from finetune.runs.seeds import by_setting, differing_settings, shared_encoders, summarised
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
    def has_folds(self) -> bool:
        """Whether its runs are scored on rows of their own each."""
        return len({record.data for record in self.records}) > 1

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
    def title(self) -> str:
        """What all lines have in common: `1,000 training rows, f1 on 408 of dev; all with limit=1000`."""
        train = sorted({_train_rows(record) for record in self.records})
        counts = " to ".join(f"{count:,}" for count in dict.fromkeys([train[0], train[-1]]))
        objective, folds = self.records[0].options.get(OBJECTIVE), len({record.data for record in self.records})
        every = applied([line.records[0] for line in self.lines])
        same = {
            key: value
            for key, value in every[0].items()
            if key not in SEEDS and not key.startswith((PREFIX, "options."))
            and all(other.get(key) == value for other in every)
        }  # fmt: skip
        common = ", ".join(short_settings(names_only(same)))
        return (
            f"{counts} training {noun(train[-1], 'row')}, " * bool(train[-1])
            + f"{self.metric.name}{' (lower is better)' * (not self.metric.greater_is_better)}"
            + f" on {self.rows:,} of {self.split}"
            + f" in {folds} folds" * (folds > 1)
            + f", objective {objective}" * bool(objective)
            + f"; all with {common}" * bool(common)
        )

    @property
    def notes(self) -> list[str]:
        """What to know of the numbers."""
        lines, folds = self.lines, any(line.has_folds for line in self.lines)
        margins = [margin for record in self.records if (margin := record.margins.get(self.split)) is not None]
        of_seeds = [line.of_seeds or (line.difference and line.difference_of_seeds) for line in lines]
        notes = [
            "to the best: the line minus the best one, with its 95 % interval; p (Holm): adjusted for all pairs of "
            "lines, since the best was chosen by these scores. Intervals count the chance of rows and of seeds"
            * bool(self.pairs),
            f"the best was chosen on {self.split}, so its score there is a little too good" * (len(lines) > 1),
            f"{OF_SEEDS} counts the chance of seeds alone, for these rows: the records have no interval over rows"
            * any(of_seeds),
            "no difference to the best is tested where there is nothing to tell it by: "
            f"{'each fold has rows of its own' if folds else 'a single run, and no interval over rows in the records'}"
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
    first = groups[0][0]
    split, metric = first.first_split, first.metric(first.headline)
    lines = []
    for group, settings in zip(groups, _settings([group[0] for group in groups]), strict=True):
        verdict, over_seeds = verdict_of(group, split=split), summarised([run.score for run in group], metric).interval
        of_seeds = verdict.interval is None and over_seeds is not None
        interval = over_seeds if of_seeds else verdict.interval
        lines.append(BoardLine(records=group, settings=settings, verdict=verdict, interval=interval, of_seeds=of_seeds))
    lines.sort(key=lambda line: metric.rank(line.verdict.score), reverse=True)
    compared, pairs = _compared(lines, metric)
    return Board(lines=compared, split=split, metric=metric, pairs=pairs)


def _settings(firsts: Sequence[RunRecord]) -> list[str]:
    """In what the settings of lines differ, in words, and from which run an encoder is:
    `encoder trained on simplewiki (updates=8000)`.
    """
    trained = [record for record in firsts if record.lineage is not None]
    earlier = dict(zip(map(id, trained), differing_settings(trained), strict=True))
    words = []
    for record, differing in zip(firsts, differing_settings(firsts), strict=True):
        own = {key: value for key, value in differing.items() if not key.startswith(PREFIX)}
        encoder = []
        if record.lineage is not None:
            of_encoder = {
                key.rpartition(PREFIX)[2]: value for key, value in earlier[id(record)].items() if key.startswith(PREFIX)
            }
            theirs = ", ".join(short_settings(of_encoder))
            encoder = [f"encoder trained on {record.lineage.task}" + f" ({theirs})" * bool(theirs)]
        words.append(", ".join([*encoder, *short_settings(names_only(own))]))
    return words


def _compared(lines: Sequence[BoardLine], metric: Metric) -> tuple[Sequence[BoardLine], int]:
    """The lines with their differences to the first, and how many pairs were tested.

    The best was chosen by the scores that are tested, so p is adjusted for all pairs, not for those with the best.
    """
    if any(line.has_folds for line in lines):
        return lines, 0
    sides = []
    for line in lines:
        margins = [record.margins.get(record.first_split) for record in line.records]
        sides.append(SketchedScores(
            scores=[record.score for record in line.records],
            intervals=[one.interval if one else None for one in margins],
            sketches=[one.sketch if one else "" for one in margins], spacing=metric.spacing,
        ))  # fmt: skip
    first = lines[0].records[0]
    least = least_p(first.rows[first.first_split])  # sketches know no number of rows
    tested = {
        pair: replace(difference, p=max(difference.p, least))
        for pair in combinations(range(len(lines)), 2)
        if (difference := sketched_difference(sides[pair[0]], sides[pair[1]])) is not None
    }
    adjusted = dict(zip(tested, holm([one.p for one in tested.values()]), strict=True))
    compared = list(lines)
    for index in range(1, len(lines)):
        if (found := tested.get((0, index))) is not None:
            possible = metric.possible_difference(found.interval, around=found.value)
            compared[index] = replace(
                lines[index], difference=replace(found, interval=possible), p_holm=adjusted[0, index],
                difference_of_seeds=not (sides[0].knows_rows and sides[index].knows_rows),
            )  # fmt: skip
    return compared, len(tested)


def board_form(boards: Sequence[Board]) -> Form:
    """The lines below the data that they were scored on, the best first. Splits other than the first are columns."""
    every = [(board, line) for board in boards for line in board.lines]
    splits = list(
        dict.fromkeys(name for board, line in every for name in line.records[0].scores if name != board.split)
    )
    numbers = [_numbers(line, board, splits) for board, line in every]
    titles = [board.title for board in boards]
    cells = []
    for (board, line), number in zip(every, numbers, strict=True):
        title = board.title + f", data {number['data']}" * (titles.count(board.title) > 1)
        cells.append({"data": title, "": str(board.lines.index(line) + 1), **_cells(line, board, number, splits)})
    filled = [name for name in cells[0] if name in NAMES or any(row[name] for row in cells)]
    notes = dict.fromkeys(note for board in boards for note in board.notes)
    return Form(
        title=f"{boards[0].records[0].task}: {so_many(len(every), 'setting')}, "
        + so_many(sum(len(board.records) for board in boards), "run"),
        cells=[{name: row[name] for name in filled} for row in cells], numbers=numbers, left=len(NAMES), grouped=True,
        notes=[
            *[f"runs on {len(boards)} versions of the data are not compared with each other: each has its own best"]
            * (len(boards) > 1),
            *notes,
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


def _numbers(line: BoardLine, board: Board, splits: Sequence[str]) -> dict[str, Any]:
    """Scores and differences as computed, 0.843 for 84.3 points."""
    first, found, verdict = line.records[0], line.difference, line.verdict
    low, high = line.interval or (None, None)
    difference_low, difference_high = (found and found.interval) or (None, None)
    has_baseline = verdict.baseline is not None and verdict.difference is not None
    parameters, rates = first.parameters.get("all"), [record.examples_per_second for record in line.records]
    seconds = [record.seconds["training"] for record in line.records if "training" in record.seconds]
    others = {
        name: board.metric.spacing.mean([record.scores[name][board.metric.name] for record in line.records])
        for name in splits if name in first.scores and name != board.split
    }  # fmt: skip
    chance = ("rows and seeds", "seeds")
    return {
        "task": first.task, "data": first.data[:8], "train_rows": first.rows.get("train"), "split": board.split,
        "rows": board.rows, "metric": board.metric.name, "model": line.model, "settings": line.settings,
        "seeds": len(line.records), "score": verdict.score, "low": low, "high": high,
        "chance_of": None if line.interval is None else chance[line.of_seeds], "best": line is board.lines[0],
        "difference": found and found.value, "difference_low": difference_low, "difference_high": difference_high,
        "difference_chance_of": found and chance[line.difference_of_seeds], "p": found and found.p,
        "p_holm": line.p_holm, "baseline": baseline_words(verdict.baseline or "") if has_baseline else None,
        "baseline_score": verdict.score - (verdict.difference or 0) if has_baseline else None, "verdict": verdict.level,
        **{f"{name}_score": others.get(name) for name in splits},
        "parameters": parameters, "megabytes": FP32 * parameters / 1e6 if parameters is not None else None,
        "seconds": fmean(seconds) if seconds else None, "rows_per_second": fmean(rates),
        "runs": " ".join(record.id for record in line.records),
    }  # fmt: skip


def _cells(line: BoardLine, board: Board, numbers: dict[str, Any], splits: Sequence[str]) -> dict[str, str]:
    metric, found, verdict = board.metric, line.difference, line.verdict

    def cell(name: str, shown: Callable[[Any], str]) -> str:
        return "" if numbers[name] is None else shown(numbers[name])

    def ends(interval: Interval | None, shown: Callable[[float], str]) -> str:
        return " to ".join(map(shown, interval or ()))

    between = ends(found.interval if found else None, metric.signed)
    difference = cell("difference", metric.signed) + f" ({between})" * bool(between)
    against = "equal to" if verdict.difference == 0 else UNTESTED if line.untested else AGAINST[verdict.level]
    return {
        "model": line.model,
        "settings": line.settings,
        "seeds": str(len(line.records)),
        "score": metric.shown(verdict.score),
        "95 % interval": ends(line.interval, metric.shown) + OF_SEEDS * line.of_seeds,
        "to the best": "best" if numbers["best"] and len(board.lines) > 1
        else difference + OF_SEEDS * line.difference_of_seeds,
        "p (Holm)": cell("p_holm", lambda p: f"{p:.4f}" if p >= LEAST_P else f"<{LEAST_P}"),
        "against baseline": cell("baseline", lambda name: f"{against} {name} {cell('baseline_score', metric.shown)}"),
        **{name: cell(f"{name}_score", metric.shown) for name in splits},
        "parameters": cell("parameters", "{:,}".format),
        "MB": cell("megabytes", "{:.1f}".format),
        "seconds": cell("seconds", "{:,.0f}".format),
        "rows/s": cell("rows_per_second", "{:,.0f}".format),
    }  # fmt: skip
