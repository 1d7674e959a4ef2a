"""Scores of a run next to baselines, published scores and models that it is compared with; their spread over seeds."""

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from finetune.analysis.pages.svg import Axis, Coordinates, Mark, bars, chart, dots, intervals, line, names_axis, words
from finetune.analysis.published import published_for
from finetune.analysis.recorded_models import COLUMNS, SIZE, compared_cells, old_and_new
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import Group, RunFiles
from finetune.commands.report.text import NAME, list_text, pairs_text, score_text
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import ScoreInterval
from finetune.runs.seeds import summarised
from finetune.runs.verdict import baseline_words, interval_of
from finetune.task_types.marked_text import cut

OURS = "this run"


def score_blocks(run: RunFiles) -> Iterator[Block]:
    """One block per split."""
    for split, scores in run.record.scores.items():
        yield _of_split(run.record, split, scores)


def _of_split(record: RunRecord, split: str, scores: Mapping[str, float]) -> Block:
    metrics = [record.metric(name) for name in plain_metrics(scores)]
    methods: dict[str, Mapping[str, float]] = {OURS: scores, **record.baselines.get(split, {})}
    for anchor in published_for(record, split):
        name = f"published: {anchor.source}"
        methods[name] = {**methods.get(name, {}), anchor.metric: anchor.score}
    first = metrics[0]
    chosen = {name: given[first.name] for name, given in methods.items() if first.name in given}
    interval = record.margins[split].interval if split in record.margins and first.name == record.headline else None
    scale = "" if record.metrics else "; all scores are on a scale of 0 to 100"
    return Block(
        title=f"Scores on {split}",
        note=f"{so_many(record.rows.get(split, 0))}{scale}."
        + " The line is the 95 % interval." * (interval is not None),
        chart=_score_chart(chosen, f"{split} {first.name}", first, interval) if len(chosen) > 1 else None,
        table=TableBlock(
            columns=["method", *(metric.name for metric in metrics)],
            rows=[
                [baseline_words(name), *(score_text(given.get(metric.name), metric) for metric in metrics)]
                for name, given in methods.items()
            ],
            strong=[0],
        ),
    )


def _score_chart(scores: Mapping[str, float], title: str, metric: Metric, interval: ScoreInterval | None) -> Markup:
    """A bar for the run, first and coloured, and for each method that it is compared with."""
    values = [metric.scaled(score) for score in scores.values()]
    boxes = [(0.0, -at + 0.3, value, -at - 0.3) for at, value in enumerate(values)]
    ends = [metric.scaled(end) for end in interval or ()]
    marks = [
        bars(boxes[:1]),
        bars(boxes[1:], colour="quiet"),
        words([(max([value, *ends] if not at else [value]), -at) for at, value in enumerate(values)],
              list(map(metric.shown, scores.values()))),
    ]  # fmt: skip
    if ends:
        marks.append(intervals([((min(ends), 0.0), (max(ends), 0.0))], colour="ink"))
    return chart(
        marks, x=Axis(label=title, margin=0.16, high=None, low=None if min(values) < 0 else 0.0),
        y=names_axis([baseline_words(name) for name in scores]), height=30.0 * len(scores),
        says=f"{title}: {pairs_text(scores, metric)}",
    )  # fmt: skip


MOST_LINES = 60


def old_and_new_block(run: RunFiles) -> Iterator[Block]:
    """The sentence and the F1 of each old label; none for other runs."""
    found = old_and_new(run.record)
    if found is None:
        return
    lines = [[cut(name, NAME), *cells] for name, *cells in found.cells[:MOST_LINES]]
    table = TableBlock(columns=list(COLUMNS), rows=lines, sorts=True) if lines else None
    yield Block(
        title="Old model and new", note=f"{found.sentence}. F1 by label:" if lines else found.sentence, table=table
    )


def compared_block(run: RunFiles) -> Iterator[Block]:
    """A student next to its teacher and itself without one; none for other runs."""
    record = run.record
    if record.compared:
        columns = ["split", "model", "runs", *plain_metrics(record.scores[record.first_split]), *SIZE]
        yield Block(title="Compared", table=TableBlock(columns=columns, rows=compared_cells(record)), wide=True)


def spread_block(group: Group) -> Iterator[Block]:
    """Mean, standard deviation and interval of each metric, except those of single classes; each seed's score as a dot,
    their mean as a line, the best baseline as a cross.
    """
    first, rows, names, said = group[0].record, list[list[str]](), list[str](), list[str]()
    seeds, means, baselines = list[Coordinates](), list[Mark](), list[Coordinates]()
    for split, name in [(split, name) for split, scores in first.scores.items() for name in plain_metrics(scores)]:
        metric, place = first.metric(name), -float(len(names))
        scores = [run.record.scores[split][name] for run in group]
        found, baseline = summarised(scores, metric), first.best_baseline(split, name)
        ends = interval_of([run.record for run in group], split, name)
        values = (found.mean, found.sd, min(scores, key=metric.rank), found.best, baseline)
        mean, sd, *others = (score_text(value, metric) for value in values)
        names.append(f"{split} {name}")
        rows.append([names[-1], mean, sd, " to ".join(map(metric.shown, ends or ())), *others])
        said.append(f"{names[-1]} {list_text(scores, metric)}")
        apart = max(1, len(scores) - 1)
        seeds += [(metric.scaled(score), place + 0.3 * (at / apart - 0.5)) for at, score in enumerate(scores)]
        middle = metric.scaled(found.mean)
        means.append(line([(middle, place - 0.32), (middle, place + 0.32)], colour="ink", name="mean"))
        baselines += [] if baseline is None else [(metric.scaled(baseline), place)]
    marks = [dots(seeds, name="a seed"), *means]
    if baselines:
        marks.append(dots(baselines, colour="s2", shape="cross", name="best baseline", radius=4))
    yield Block(
        title="Spread over the seeds",
        note=f"{len(group)} runs that differ only in their seeds. sd is the sample standard deviation; "
        "the interval is the verdict's, of the headline's mean: over rows and seeds.",
        chart=chart(
            marks, x=Axis(margin=0.08), y=names_axis(names), height=34.0 * len(names) + 6,
            says=f"Scores by seed: {'; '.join(said)}",
        ),
        table=TableBlock(columns=["score", "mean", "sd", "95 % interval", "worst", "best", "best baseline"], rows=rows),
    )  # fmt: skip
