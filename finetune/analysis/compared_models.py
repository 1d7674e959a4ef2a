"""A student in a table next to its teacher and itself without one."""

from finetune.metrics.scores import plain_metrics
from finetune.runs.record import RunRecord

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
