"""Metrics and their sums, entities, significance, calibration: pure functions.

The public names are the metrics that a task can be declared with.
"""

from finetune.metrics.metric import Metric
from finetune.metrics.relations import auprc, directed_macro_f1, micro_f1_without
from finetune.metrics.scores import accuracy, class_metric, f1_from, f1_of, macro_f1, matthews, pearson, spearman
from finetune.metrics.sums import Counted, part_counted, set_counts

__all__ = [
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
    "micro_f1_without",
    "part_counted",
    "pearson",
    "set_counts",
    "spearman",
]
