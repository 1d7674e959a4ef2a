"""Scores and their sums, entities, significance, calibration: pure functions.

These names are the public ones: the metrics that a task can be declared with.
"""

from finetune.metrics.scores import F1Of, Metric, accuracy, macro_f1, matthews, pearson, spearman

__all__ = ["F1Of", "Metric", "accuracy", "macro_f1", "matthews", "pearson", "spearman"]
