"""Scores of a model, their spread over seeds, what it takes for what, and whether its confidence can be relied on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from finetune.data.messages import so_many
from finetune.inference.card.described import DescribedRun
from finetune.inference.card.markdown import bullets, card_table, code, section
from finetune.metrics.calibration import cut_off_cells, expected_error, reliability
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.dev_choices import chosen_by_scored
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import ScoreInterval
from finetune.runs.seeds import summarised
from finetune.runs.verdict import baseline_words, interval_of, verdict_of
from finetune.task_types.view import View

OURS = "**this model**"
MOST_CLASSES = 30  # lines of the table by class
MOST_CONFUSED = 10  # pairs of label and prediction
EXAMPLES_SHOWN = 3  # rows that are right, and rows that are wrong
TEXT_CHARS = 300  # of a text that is shown


def scores(run: DescribedRun) -> str:
    """The scores of each split next to its baselines, and what they are worth."""
    tables = [_scores(run.told, split) for split in run.record.scores]
    return section("Scores", verdict_of(run.every_seed).sentence, *tables, _spread(run))


def _scores(record: RunRecord, split: str) -> str:
    metrics = [record.metric(name) for name in plain_metrics(record.scores[split])]
    methods: dict[str, Mapping[str, float]] = {OURS: record.scores[split]}
    methods |= {baseline_words(name): given for name, given in record.baselines.get(split, {}).items()}
    margin, lines = record.margins.get(split), list[Sequence[str]]()
    for name, given in methods.items():
        shown = (metric.shown(given[metric.name]) if metric.name in given else "" for metric in metrics)
        lines.append([name, *shown, _ends(record, margin.interval if margin and name == OURS else None)])
    heading = ["method", *(metric.name for metric in metrics), f"95 % interval of {record.headline}"]
    return f"{_rows(record, split)}\n\n{card_table(heading, lines)}"


def _rows(record: RunRecord, split: str) -> str:
    """`dev, 408 rows. It chose the epoch.`"""
    chosen = chosen_by_scored(record) if split == record.first_split else ""
    chose = f" These rows also chose {chosen}, so that the scores are optimistic." if chosen else ""
    return f"On **{split}**, {so_many(record.rows.get(split, 0))}.{chose}"


def _ends(record: RunRecord, interval: ScoreInterval | None) -> str:
    return " to ".join(map(record.metric(record.headline).shown, interval or ()))


def _spread(run: DescribedRun) -> str:
    """Mean and spread of the runs that differ in their seeds alone; empty for a single run."""
    records, lines = run.every_seed, list[Sequence[str]]()
    if len(records) < 2:
        return ""
    for split, given in run.record.scores.items():
        for name in plain_metrics(given):
            metric = run.record.metric(name)
            lines.append([f"{split} {name}", *_spread_cells(records, split, metric)])
    heading = ["score", "mean", "sd", "95 % interval", "worst", "best"]
    return f"Over {len(records)} seeds:\n\n{card_table(heading, lines)}"


def _spread_cells(records: Sequence[RunRecord], split: str, metric: Metric) -> Iterator[str]:
    values = [record.scores[split][metric.name] for record in records]
    found = summarised(values, metric)
    yield metric.shown(found.mean)
    yield "" if found.sd is None else metric.shown(found.sd)
    yield " to ".join(map(metric.shown, interval_of(records, split, metric.name) or ()))
    yield from map(metric.shown, (min(values, key=metric.rank), found.best))


def errors(run: DescribedRun) -> str:
    """Scores by class, the most frequent confusions, and calibration, on the split whose predictions are told of."""
    if run.view is None:
        return ""
    return section(
        f"Where it is wrong, on {run.split}", _by_class(run.view), _confusions(run.view), _calibration(run.view)
    )


def _by_class(view: View) -> str:
    classes = sorted(view.classes(), key=lambda one: -one.gold)[:MOST_CLASSES]
    values = ((one.precision, one.recall, one.f1) for one in classes)
    lines = [
        [code(one.name), f"{one.gold:,}", *(f"{100 * value:.1f}" for value in three)]
        for one, three in zip(classes, values, strict=True)
    ]
    return card_table(["class", "labels", "precision", "recall", "f1"], lines)


def _confusions(view: View) -> str:
    """The pairs that are confused most often; of types whose predictions are outcomes every pair."""
    counted = Counter(pair for pair in view.pairs() if pair[0] != pair[1] or not view.square)
    most = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:MOST_CONFUSED]
    return card_table(
        ["label", "prediction", "count"], [[code(a), code(b), f"{count:,}"] for (a, b), count in most], left=2
    )


def _calibration(view: View) -> str:
    found = view.decisions()
    if found is None or not len(found[0]):
        return ""
    error = f"{100 * expected_error(reliability(*found)):.1f}"
    note = f"Expected calibration error {error} points, over {len(found[0]):,} {view.decision}."
    table = card_table(["confidence", view.decision, "share, %", "right, %"], cut_off_cells(*found))
    return f"{note}\n\n{table}"


def examples(run: DescribedRun) -> str:
    """A few rows with label and prediction, the first that are right and the first that are wrong."""
    if run.view is None or not run.with_examples:
        return ""
    wrong = run.view.wrong()
    chosen = [line for side in (False, True) for line in _first_of(run.view, wrong == side)]
    return section("Examples", bullets(chosen))


def _first_of(view: View, those: Sequence[bool]) -> list[str]:
    lines = [line for line, one in zip(view.lines, those, strict=True) if one][:EXAMPLES_SHOWN]
    return [
        " / ".join(code("".join(part.text for part in text.segments), TEXT_CHARS) for text in view.parts(line))
        + f": label {code(view.verdict(line)[0])}, prediction {code(view.verdict(line)[1])}"
        for line in lines
    ]
