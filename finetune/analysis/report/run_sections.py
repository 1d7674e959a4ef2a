"""The cards that a run's record gives: scores, learning curves, settings, facts; and of several runs, their seeds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from finetune.analysis.published import beside
from finetune.analysis.report.blocks import Card, Table
from finetune.analysis.report.charts_run import loss_chart, method_chart, score_chart, spread_chart
from finetune.analysis.report.run_files import Material
from finetune.analysis.report.seeds import spreads
from finetune.metrics.scores import metric_named, plain_metrics
from finetune.runs.dev_choices import all_notes
from finetune.runs.recipe_diff import Setting, settings_of
from finetune.runs.record import RunRecord
from finetune.runs.seeds import seed_words
from finetune.task_types.marked_text import cut

MOST_ROWS = 50
MOST_CURVES = 6


def run_cards(run: Material) -> Iterator[Card]:
    """What is known of a run without its predictions."""
    record = run.record
    for split, scores in record.scores.items():
        yield score_card(record, split, scores)
    if record.epochs:
        yield Card(title="Training loss", chart=loss_chart(run.losses, record.epochs), note=_epochs(record))
        yield curve_card({f"seed {record.recipe['seed']}": record}, record)
    yield settings_card([run])
    yield facts_card(record)
    if notes := all_notes(record):
        table = Table(columns=["note"], rows=[[cut(note)] for note in notes[:MOST_ROWS]])
        yield Card(title="Notes of the run", table=table)


def score_card(record: RunRecord, split: str, scores: Mapping[str, float]) -> Card:
    """A split's scores beside those of the baselines and published ones, and its first score as bars."""
    metrics = plain_metrics(scores)
    methods: dict[str, Mapping[str, float]] = {"this run": scores, **record.baselines.get(split, {})}
    for anchor in beside(record, split):
        methods.setdefault(f"published: {anchor.source}", {})
        methods[f"published: {anchor.source}"] = {**methods[f"published: {anchor.source}"], anchor.metric: anchor.score}
    rows = [[name, *(_score(given.get(metric)) for metric in metrics)] for name, given in methods.items()]
    first = metrics[0]
    shown = {name: given[first] for name, given in methods.items() if first in given}
    return Card(
        title=f"Scores on {split}",
        note=f"{record.rows.get(split, 0):,} rows; all scores are on a scale of 0 to 100.",
        chart=method_chart(shown, metric=f"{split} {first}"),
        table=Table(columns=["method", *metrics], rows=rows, strong=[0]),
    )


def curve_card(records: Mapping[str, RunRecord], first: RunRecord) -> Card:
    """The headline by epoch."""
    split = next(iter(first.scores))
    curves = {name: [epoch["headline"] for epoch in record.epochs] for name, record in records.items()}
    given = {name: scores[first.headline] for name, scores in first.baselines.get(split, {}).items()}
    metric = f"{split} {first.headline}"
    return Card(title=f"{metric} by epoch", chart=score_chart(curves, given, metric=metric))


def seed_cards(group: Sequence[Material]) -> Iterator[Card]:
    """Of runs that differ in their seeds alone."""
    found = spreads(group)
    rows = []
    for one in found:
        each = one.summary
        interval = " to ".join(map(_score, each.interval or ()))
        ends = [_score(value) for value in (min(one.scores), each.best, one.baseline)]
        rows.append([f"{one.split} {one.metric}", _score(each.mean), _score(each.sd), interval, *ends])
    columns = ["score", "mean", "sd", "95 % interval", "lowest", "highest", "best baseline"]
    yield Card(
        title="Spread over the seeds",
        note=f"{len(group)} runs that differ in their seeds alone. sd is the standard deviation of a sample; "
        "the interval is of the mean (Student's t).",
        chart=spread_chart(found),
        table=Table(columns=columns, rows=rows),
    )
    records = {seed_words(run.record): run.record for run in group[:MOST_CURVES]}
    if all(record.epochs for record in records.values()):
        yield curve_card(records, group[0].record)


def overview_card(runs: Sequence[Material]) -> Card:
    """A line a run."""
    rows = []
    for run in runs:
        record = run.record
        split = next(iter(record.scores))
        given = [scores[record.headline] for scores in record.baselines.get(split, {}).values()]
        best = max(given, key=metric_named(record.headline).rank, default=None)
        score = record.scores[split][record.headline]
        words = [
            record.task,
            record.id,
            record.model,
            seed_words(record),
            record.finished,
            f"{split} {record.headline}",
        ]
        rows.append([*map(cut, words), _score(score), _score(best)])
    columns = ["task", "id", "model", "seed", "finished", "headline", "score", "best baseline"]
    return Card(title="Runs", table=Table(columns=columns, rows=rows, left=6), wide=True)


def settings_card(runs: Sequence[Material]) -> Card:
    """The settings that differ from their defaults, and folded the others; of several runs, one column each."""
    found = settings_of([run.record for run in runs])
    changed, others = ([_row(one) for one in found if one.changed == wanted] for wanted in (True, False))
    columns = ["setting", *([run.record.id for run in runs] if len(runs) > 1 else ["this run"]), "default"]
    table = Table(columns=columns, rows=changed, left=len(columns), folded=others)
    note = f"{len(changed)} settings differ from the defaults of a recipe, {len(others)} do not."
    return Card(title="Settings", note=note, table=table, wide=len(runs) > 1)


def facts_card(record: RunRecord) -> Card:
    """Where a run came from and what it ran on."""
    facts = {
        "finished": record.finished,
        "model": f"{record.model} ({record.weights[:10]})",
        "data": record.data[:10],
        **{
            f"rows of {split}": f"{count:,}, from {record.data_origin.get(split, '')}"
            for split, count in record.rows.items()
        },
        "options of the task": ", ".join(f"{name} {_value(value)}" for name, value in record.options.items()),
        "device": f"{record.device}, {record.precision}, {record.processes} process{'es' * (record.processes > 1)}",
        "training": f"{record.seconds.get('training', 0):,.0f} s, {record.examples_per_second:.1f} rows/s",
        "peak memory": f"{record.peak_memory_bytes / 2**30:.2f} GiB",
        "commit": record.git_commit or "",
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
    }
    rows = [[name, cut(text)] for name, text in facts.items() if text]
    return Card(title="Facts", table=Table(columns=["fact", "value"], rows=rows, left=2))


def _row(one: Setting) -> list[str]:
    return [one.key, *(_value(value) for value in one.values), _value(one.default)]


def _epochs(record: RunRecord) -> str:
    return f"{len(record.epochs)} epochs; the weights of epoch {record.selected_epoch} are the result."


def _score(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return cut(", ".join(map(_value, value)))
    return "–" if value is None else cut(str(value))
