"""The best of several settings: the one rule by which commands, reports and the Python API choose."""

from collections.abc import Sequence

from finetune.runs.data_sizes import of_largest_sizes
from finetune.runs.record import RunRecord
from finetune.runs.seeds import by_setting, groups


def best_group(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs of the setting with the best mean headline score over its seeds and folds, on the first split.

    Of several sizes of the data only the largest takes part. A mean that is undefined is the worst; of equal ones the
    first setting counts.
    """
    return max(by_setting(of_largest_sizes(records)), key=_rank)


def best_run(records: Sequence[RunRecord]) -> RunRecord:
    """The run of the best setting with the best headline score on the first split; of several folds in the first."""
    return max(groups(best_group(records))[0], key=lambda record: record.metric(record.headline).rank(record.score))


def _rank(group: Sequence[RunRecord]) -> float:
    metric = group[0].metric(group[0].headline)
    return metric.rank(metric.spacing.mean([record.score for record in group]))
