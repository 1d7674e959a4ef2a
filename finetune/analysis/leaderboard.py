"""A leaderboard of a task from records: a line a model and settings, each compared with the best.

Only runs that were scored on the same rows are on one board: a task has a board for each version of its data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import PurePath
from statistics import fmean

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


@dataclass(frozen=True, kw_only=True)
class BoardLine:
    """Runs that differ only in seeds. Scores are of the board's split and metric, as computed.

    `of_seeds`: the interval, or the difference, counts the chance of seeds alone, since the records have no interval
    over rows. `difference` is this line minus the best one; None of the best, and where nothing can be told. `p_holm`
    is adjusted for all pairs of lines. `others` are the means on further splits.
    """

    records: Sequence[RunRecord]
    settings: str
    verdict: Verdict
    interval: Interval | None
    of_seeds: bool
    others: Mapping[str, float]
    difference: Difference | None = None
    difference_of_seeds: bool = False
    p_holm: float | None = None

    @property
    def model(self) -> str:
        """The encoder's name, and from which runs it comes."""
        first = self.records[0]
        return str(names_only(first.model if first.lineage is None else first.lineage.checkpoint))

    @property
    def score(self) -> float:
        """The mean over the seeds."""
        return self.verdict.score

    @property
    def baseline(self) -> tuple[str, float] | None:
        """The name and the score of the best baseline."""
        found = self.verdict
        if found.baseline is None or found.difference is None:
            return None
        return baseline_words(found.baseline), found.score - found.difference

    @property
    def parameters(self) -> int | None:
        """The weights of the model; None where the record does not know."""
        return self.records[0].parameters.get("all")

    @property
    def megabytes(self) -> float | None:
        """The size of these weights in fp32."""
        return None if self.parameters is None else FP32 * self.parameters / 1e6

    @property
    def seconds(self) -> float | None:
        """The mean time of training a run."""
        known = [record.seconds["training"] for record in self.records if "training" in record.seconds]
        return fmean(known) if known else None

    @property
    def rows_per_second(self) -> float:
        """The mean rate of training."""
        return fmean(record.examples_per_second for record in self.records)


@dataclass(frozen=True, kw_only=True)
class Board:
    """The lines of runs that were scored on the same rows, the best first. `pairs` of them were tested."""

    task: str
    split: str
    metric: Metric
    lines: Sequence[BoardLine]
    pairs: int
    notes: Sequence[str]

    @property
    def rows(self) -> int:
        """The rows that all were scored on."""
        return self.lines[0].records[0].rows.get(self.split, 0)

    @property
    def title(self) -> str:
        """What all lines have in common: `1,000 training rows, f1 on 408 of dev; all with limit=1000`."""
        records = [record for line in self.lines for record in line.records]
        given = sorted({_train_rows(record) for record in records})
        train = " to ".join(f"{count:,}" for count in dict.fromkeys([given[0], given[-1]]))
        objective = records[0].options.get(OBJECTIVE)
        folds, common = len({record.data for record in records}), _common(self.lines)
        lower = "" if self.metric.greater_is_better else " (lower is better)"
        return (
            f"{train} training {noun(given[-1], 'row')}, " * bool(given[-1])
            + f"{self.metric.name}{lower} on {self.rows:,} of {self.split}"
            + f" in {folds} folds" * (folds > 1)
            + f", objective {objective}" * bool(objective)
            + f"; all with {common}" * bool(common)
        )


def leaderboards(records: Sequence[RunRecord]) -> list[Board]:
    """A board for each data that runs of a task were scored on, the one with the most rows first."""
    found: dict[tuple[object, ...], list[list[RunRecord]]] = {}
    for group in by_setting(records):
        found.setdefault(_measured_on(group), []).append(group)
    boards = [_board(groups) for groups in found.values()]
    return sorted(boards, key=_size, reverse=True)


def _measured_on(group: Sequence[RunRecord]) -> tuple[object, ...]:
    """What runs must have in common to be compared: data, the rows that are scored, the metric, and of encoders trained
    on text the objective, since perplexities from other contexts do not compare.
    """
    first = group[0]
    rows = frozenset((record.data, record.rows.get(first.first_split)) for record in group)
    return first.task_version, rows, first.first_split, first.headline, first.options.get(OBJECTIVE)


def _size(board: Board) -> tuple[int, int, int]:
    """The most training rows, the rows that are scored, and the lines."""
    return max(_train_rows(line.records[0]) for line in board.lines), board.rows, len(board.lines)


def _train_rows(record: RunRecord) -> int:
    return record.rows.get("train", 0)


def _board(groups: Sequence[Sequence[RunRecord]]) -> Board:
    first = groups[0][0]
    split, metric = first.first_split, first.metric(first.headline)
    made = [_line(group, words, metric) for group, words in zip(groups, _settings(groups), strict=True)]
    lines = sorted(made, key=lambda line: metric.rank(line.score), reverse=True)
    compared, pairs = _compared(lines, metric)
    return Board(
        task=first.task, split=split, metric=metric, lines=compared, pairs=pairs,
        notes=_notes(compared, split=split, pairs=pairs),
    )  # fmt: skip


def _settings(groups: Sequence[Sequence[RunRecord]]) -> list[str]:
    """In what the settings of the groups differ, in words."""
    firsts = [group[0] for group in groups]
    trained = [record for record in firsts if record.lineage is not None]
    earlier = dict(zip(map(id, trained), differing_settings(trained), strict=True))
    words = []
    for record, given in zip(firsts, differing_settings(firsts), strict=True):
        own = {key: value for key, value in given.items() if not key.startswith(PREFIX)}
        words.append(", ".join([*_encoder(record, earlier.get(id(record), {})), *short_settings(names_only(own))]))
    return words


def _encoder(record: RunRecord, differing: Mapping[str, object]) -> list[str]:
    """From which run the encoder is: `encoder trained on simplewiki (updates=8000)`; nothing where it is of none."""
    if record.lineage is None:
        return []
    theirs = short_settings(
        {key.rpartition(PREFIX)[2]: value for key, value in differing.items() if key.startswith(PREFIX)}
    )
    return [f"encoder trained on {record.lineage.task}" + f" ({', '.join(theirs)})" * bool(theirs)]


def _common(lines: Sequence[BoardLine]) -> str:
    """The settings not at their default that all lines have; of a single line they are its own."""
    every = applied([line.records[0] for line in lines])
    same = {key: value for key, value in every[0].items() if all(one.get(key) == value for one in every)}
    kept = {key: value for key, value in same.items() if key not in SEEDS and not key.startswith((PREFIX, "options."))}
    return ", ".join(short_settings(names_only(kept)))


def _line(group: Sequence[RunRecord], settings: str, metric: Metric) -> BoardLine:
    split = group[0].first_split
    verdict = verdict_of(group, split=split)
    over_seeds = summarised([record.score for record in group], metric).interval
    of_seeds = verdict.interval is None and over_seeds is not None
    return BoardLine(
        records=group, settings=settings, verdict=verdict,
        interval=over_seeds if of_seeds else verdict.interval, of_seeds=of_seeds,
        others={name: _mean(group, name, metric) for name in group[0].scores if name != split},
    )  # fmt: skip


def _mean(group: Sequence[RunRecord], split: str, metric: Metric) -> float:
    return metric.spacing.mean([record.scores[split][metric.name] for record in group])


def _compared(lines: Sequence[BoardLine], metric: Metric) -> tuple[list[BoardLine], int]:
    """The lines with their differences to the first, and how many pairs were tested.

    The best was chosen by the scores that are tested, so p is adjusted for all pairs, not for those with the best.
    """
    sides = [_sketched(line, metric) for line in lines]
    if any(len({record.data for record in line.records}) > 1 for line in lines):
        return list(lines), 0  # folds: each run has rows of its own
    first = lines[0].records[0] if lines else None
    least = least_p(first.rows[first.first_split]) if first else 0.0  # sketches know no number of rows
    tested = {
        pair: replace(difference, p=max(difference.p, least))
        for pair in combinations(range(len(lines)), 2)
        if (difference := sketched_difference(sides[pair[0]], sides[pair[1]])) is not None
    }
    adjusted = dict(zip(tested, holm([one.p for one in tested.values()]), strict=True))
    compared = [
        replace(
            line, difference=_possible(tested.get((0, index)), metric), p_holm=adjusted.get((0, index)),
            difference_of_seeds=not (sides[0].knows_rows and sides[index].knows_rows),
        )
        if index else line
        for index, line in enumerate(lines)
    ]  # fmt: skip
    return compared, len(tested)


def _possible(found: Difference | None, metric: Metric) -> Difference | None:
    if found is None:
        return None
    return replace(found, interval=metric.possible_difference(found.interval, around=found.value))


def _sketched(line: BoardLine, metric: Metric) -> SketchedScores:
    margins = [record.margins.get(record.first_split) for record in line.records]
    return SketchedScores(
        scores=[record.score for record in line.records],
        intervals=[None if one is None else one.interval for one in margins],
        sketches=["" if one is None else one.sketch for one in margins],
        spacing=metric.spacing,
    )


def _notes(lines: Sequence[BoardLine], *, split: str, pairs: int) -> list[str]:
    return [*_about_tests(lines, split=split, pairs=pairs), *_about_runs(lines, split=split)]


def _about_tests(lines: Sequence[BoardLine], *, split: str, pairs: int) -> Iterable[str]:
    if pairs:
        yield (
            "to the best: the line minus the best one, with its 95 % interval; p (Holm): adjusted for all pairs of "
            "lines, since the best was chosen by these scores. Intervals count the chance of rows and of seeds"
        )
    if len(lines) > 1:
        yield f"the best was chosen on {split}, so its score there is a little too good"
    if any(line.of_seeds or (line.difference and line.difference_of_seeds) for line in lines):
        yield "† counts the chance of seeds alone, for these rows: the records have no interval over rows"
    if any(line.difference is None for line in lines[1:]):
        folds = any(len({record.data for record in line.records}) > 1 for line in lines)
        why = "each fold has rows of its own" if folds else "a single run, and no interval over rows in the records"
        yield f"no difference to the best is tested where there is nothing to tell it by: {why}"
    margins = [record.margins.get(split) for line in lines for record in line.records]
    if pairs and any(one is not None and one.interval is not None and not one.sketch for one in margins):
        yield (
            "some records (of earlier versions, or of runs that have all rows right) do not say which chance of rows "
            "they share, so intervals of differences may be wider than needed; `finetune compare` reads predictions"
        )


def _about_runs(lines: Sequence[BoardLine], *, split: str) -> Iterable[str]:
    every = [record for line in lines for record in line.records]
    rows = every[0].rows.get(split, 0)
    if 0 < rows < FEW_ROWS:
        yield f"only {so_many(rows)} in {split}: intervals are too narrow for so few"
    if any(len(line.records) < 2 for line in lines):
        yield "one seed: such a line is a model, not a training method; another seed may score differently"
    if len({record.device for record in every}) > 1:
        yield "trained on different devices, so seconds and rows/s do not compare (`finetune show RUN` names it)"
    for line in lines:
        if note := shared_encoders(line.records):
            yield f"{PurePath(line.model).name}: {note}"
