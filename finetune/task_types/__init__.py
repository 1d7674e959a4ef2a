"""Task types: what a row is, how it becomes tokens, which head reads the encoder, how predictions are made and scored.

The public names are those that a task or a task type in another package is made of.
"""

from finetune.data.issues import Finding
from finetune.data.rows import Rows
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.choice.task import ChoiceRow, ChoiceTask
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType, Evidence
from finetune.task_types.declared_options import option
from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.findings import SplitRows, constant_findings
from finetune.task_types.multilabel.task import MultiLabelRow, MultiLabelTask
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.ranking.task import RankingRow, RankingTask
from finetune.task_types.row_issues import NoRow, unusable
from finetune.task_types.sentence.task import SentenceRow, SentenceTask
from finetune.task_types.span.row import SpanRow
from finetune.task_types.span.task import SpanTask
from finetune.task_types.tagging.columns import Tagging
from finetune.task_types.tagging.overlapping.row import OverlapRow
from finetune.task_types.tagging.overlapping.task import OverlapTask
from finetune.task_types.tagging.row import TaggingRow
from finetune.task_types.tagging.task import TaggingTask
from finetune.task_types.task import Task
from finetune.task_types.text_inputs.markers import EntitySpan, with_markers

__all__ = [
    "Ambiguous",
    "Answer",
    "Asked",
    "ChoiceRow",
    "ChoiceTask",
    "DataType",
    "DecisionRow",
    "Decisions",
    "EntitySpan",
    "Evidence",
    "ExplainTarget",
    "Finding",
    "Layout",
    "Line",
    "MultiLabelRow",
    "MultiLabelTask",
    "NamedText",
    "NoRow",
    "OverlapRow",
    "OverlapTask",
    "Pick",
    "Predictions",
    "RankingRow",
    "RankingTask",
    "Rows",
    "SentenceRow",
    "SentenceTask",
    "SpanRow",
    "SpanTask",
    "SplitRows",
    "Tagging",
    "TaggingRow",
    "TaggingTask",
    "Target",
    "Task",
    "TextTask",
    "constant_findings",
    "option",
    "unusable",
    "with_markers",
]
