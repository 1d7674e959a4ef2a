"""Task types: what a row is, how it becomes tokens, which head reads the encoder, how predictions are made and scored.

The public names are those that a task or a task type in another package is made of.
"""

from finetune.data.rows import Rows
from finetune.task_types.choice.task import ChoiceRow, ChoiceTask
from finetune.task_types.classification.marked import EntitySpan, with_markers
from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask, SentenceRow, SentenceTask
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType, Evidence
from finetune.task_types.declared_options import option
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Predictions
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.ranking.task import RankingRow, RankingTask
from finetune.task_types.row_issues import NoRow
from finetune.task_types.span.row import SpanRow
from finetune.task_types.span.task import SpanTask
from finetune.task_types.tagging.intent.row import IntentRow
from finetune.task_types.tagging.intent.task import IntentTask
from finetune.task_types.tagging.overlapping.row import OverlapRow
from finetune.task_types.tagging.overlapping.task import OverlapTask
from finetune.task_types.tagging.row import TaggingRow
from finetune.task_types.tagging.task import TaggingTask
from finetune.task_types.task import Task

__all__ = [
    "Answer",
    "ChoiceRow",
    "ChoiceTask",
    "DataType",
    "DecisionRow",
    "Decisions",
    "EntitySpan",
    "Evidence",
    "IntentRow",
    "IntentTask",
    "Layout",
    "MultiLabelRow",
    "MultiLabelTask",
    "NoRow",
    "OverlapRow",
    "OverlapTask",
    "Predictions",
    "RankingRow",
    "RankingTask",
    "Rows",
    "SentenceRow",
    "SentenceTask",
    "SpanRow",
    "SpanTask",
    "TaggingRow",
    "TaggingTask",
    "Task",
    "TextTask",
    "option",
    "with_markers",
]
