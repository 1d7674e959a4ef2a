"""Tables of models in a record: the old one and the new one of `keep_labels`, and a student and its teacher."""

from collections.abc import Sequence
from dataclasses import dataclass

from finetune.data.messages import so_many
from finetune.metrics.scores import plain_metrics
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import OLD_DEV, OLD_MODEL

BY_LABEL = "/f1"  # ends the names of the scores by label
COLUMNS = ("label", "old model", "this run", "difference")


@dataclass(frozen=True, kw_only=True)
class OldAndNew:
    """A sentence on the first metric that is not a mean over classes, with the interval of the paired difference; and
    cells by label, as COLUMNS.
    """

    sentence: str
    cells: Sequence[tuple[str, ...]]


def old_and_new(record: RunRecord) -> OldAndNew | None:
    """The comparison; None for a run that has none."""
    if OLD_DEV not in record.scores or record.kept is None:
        return None
    new, old = record.scores[OLD_DEV], record.baselines[OLD_DEV][OLD_MODEL]
    metric, found = record.metric(record.kept.metric or record.headline), record.kept.margin
    before, now = old[metric.name], new[metric.name]
    ends = metric.signed_ends(None if found is None else found.difference_interval)
    words = f" (95 % {ends})" * bool(ends)
    rows = so_many(record.rows[OLD_DEV], "dev row")
    sentence = (
        f"On {rows} of run {record.kept.run}, {metric.name}: {metric.shown(before)} by the old model, "
        f"{metric.shown(now)} now: {metric.signed(now - before)}{words}"
    )
    cells = []
    for name in (name for name in new if name.endswith(BY_LABEL) and name in old):
        label, scale = name.removesuffix(BY_LABEL), record.metric(name)
        if label not in record.kept.added:
            shown = scale.shown(old[name]), scale.shown(new[name]), scale.signed(new[name] - old[name])
            cells.append((label, *shown))
    return OldAndNew(sentence=sentence, cells=cells)


SIZE = ("parameters", "MB", "rows/s")


def compared_cells(record: RunRecord) -> list[list[str]]:
    """Split, model, runs, the scores of the plain metrics, and SIZE, for each model of each split."""
    metrics, rows = plain_metrics(record.scores[record.first_split]), []
    for split in record.scores:
        for one in record.compared:
            given = one.scores.get(split, {})
            scores = [record.metric(name).shown(given[name]) if name in given else "" for name in metrics]
            size = [f"{one.parameters:,}", f"{one.megabytes:.1f}", f"{one.rows_per_second:,.0f}"]
            rows.append([split, one.name, ", ".join(one.runs), *scores, *size])
    return rows
