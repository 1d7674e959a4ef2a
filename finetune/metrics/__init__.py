"""Metrics and their sums, entities, significance, calibration: pure functions.

The public names are the metrics that a task can be declared with.
"""

from typing import TYPE_CHECKING

from finetune.lazy import names_of

if TYPE_CHECKING:
    from finetune.metrics.metric import Counted, Metric
    from finetune.metrics.ranking import RANKING_METRICS, ranking_scores
    from finetune.metrics.scores import (
        accuracy,
        auprc,
        class_metric,
        directed_macro_f1,
        f1_from,
        f1_of,
        macro_f1,
        matthews,
        micro_f1_without,
        pearson,
        spearman,
    )
    from finetune.metrics.sums import mean_counted, part_counted, set_counts

__all__ = [
    "RANKING_METRICS",
    "Counted",
    "Metric",
    "accuracy",
    "auprc",
    "class_metric",
    "directed_macro_f1",
    "f1_from",
    "f1_of",
    "macro_f1",
    "matthews",
    "mean_counted",
    "micro_f1_without",
    "part_counted",
    "pearson",
    "ranking_scores",
    "set_counts",
    "spearman",
]

__getattr__ = names_of(
    __name__,
    {  # imported when a name is first used: numpy takes a tenth of a second
        "metrics.metric": "Counted Metric",
        "metrics.ranking": "RANKING_METRICS ranking_scores",
        "metrics.scores": "accuracy auprc class_metric directed_macro_f1 f1_from f1_of macro_f1 matthews "
        "micro_f1_without pearson spearman",
        "metrics.sums": "mean_counted part_counted set_counts",
    },
)
