"""Task types: what a row is, how it becomes tokens, which head reads the encoder, how predictions are made and scored.

The public names are those that a task or a task type in another package is made of.
"""

from typing import TYPE_CHECKING

from finetune.lazy import names_of

if TYPE_CHECKING:
    from finetune.data.issues import Finding
    from finetune.data.rows import Rows
    from finetune.models.tokenizers.encoding import character_offsets
    from finetune.task_types.candidates import Ambiguous
    from finetune.task_types.choice.task import ChoiceRow, ChoiceTask
    from finetune.task_types.classification.marked import EntitySpan, with_markers
    from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask, SentenceRow, SentenceTask
    from finetune.task_types.columns import Layout
    from finetune.task_types.data_type import DataType, Evidence
    from finetune.task_types.declared_options import option
    from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
    from finetune.task_types.findings import SplitRows, constant_findings
    from finetune.task_types.parts import Answer
    from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, marks_of_both, paired_spans
    from finetune.task_types.pretraining.task import TextTask
    from finetune.task_types.ranking.task import RankingRow, RankingTask
    from finetune.task_types.row_issues import MISSING_TEXT, NoRow, unusable
    from finetune.task_types.span.row import SpanRow
    from finetune.task_types.span.task import SpanTask
    from finetune.task_types.tagging.guess import span_layout
    from finetune.task_types.tagging.own import Tagging
    from finetune.task_types.tagging.segments import segmented
    from finetune.task_types.tagging.task import TaggingRow, TaggingTask
    from finetune.task_types.task import Task
    from finetune.task_types.words.encoding import owning_windows

__all__ = [
    "MISSING_TEXT",
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
    "character_offsets",
    "constant_findings",
    "marks_of_both",
    "option",
    "owning_windows",
    "paired_spans",
    "segmented",
    "span_layout",
    "unusable",
    "with_markers",
]
__getattr__ = names_of(
    __name__,
    {
        "data.issues": "Finding",
        "data.rows": "Rows",
        "models.tokenizers.encoding": "character_offsets",
        "task_types.candidates": "Ambiguous",
        "task_types.choice.task": "ChoiceRow ChoiceTask",
        "task_types.classification.marked": "EntitySpan with_markers",
        "task_types.classification.task": "MultiLabelRow MultiLabelTask SentenceRow SentenceTask",
        "task_types.columns": "Layout",
        "task_types.data_type": "DataType Evidence",
        "task_types.declared_options": "option",
        "task_types.explained": "Asked ExplainTarget NamedText Pick Target",
        "task_types.findings": "SplitRows constant_findings",
        "task_types.parts": "Answer",
        "task_types.predictions": "DecisionRow Decisions Line Predictions marks_of_both paired_spans",
        "task_types.pretraining.task": "TextTask",
        "task_types.ranking.task": "RankingRow RankingTask",
        "task_types.row_issues": "MISSING_TEXT NoRow unusable",
        "task_types.span.row": "SpanRow",
        "task_types.span.task": "SpanTask",
        "task_types.tagging.guess": "span_layout",
        "task_types.tagging.own": "Tagging",
        "task_types.tagging.segments": "segmented",
        "task_types.tagging.task": "TaggingRow TaggingTask",
        "task_types.task": "Task",
        "task_types.words.encoding": "owning_windows",
    },
)
