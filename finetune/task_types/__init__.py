"""Task types: what a row is, how it becomes tokens, which head reads the encoder, how predictions are made and scored.

The public names are those that a task or a task type in another package is made of.
"""

from typing import TYPE_CHECKING

from finetune.lazy import names_of

if TYPE_CHECKING:
    from finetune.data.issues import Finding
    from finetune.data.rows import Rows
    from finetune.task_types.candidates import Ambiguous
    from finetune.task_types.choice.task import ChoiceRow, ChoiceTask
    from finetune.task_types.classification.marked import EntitySpan, with_markers
    from finetune.task_types.classification.own import TextType
    from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask, SentenceRow, SentenceTask
    from finetune.task_types.classification.texts import PooledTask, TextRow
    from finetune.task_types.columns import MISSING_TEXT, Layout, NoRow, unusable
    from finetune.task_types.declared import option
    from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
    from finetune.task_types.findings import SplitRows
    from finetune.task_types.own_type import Evidence, OwnType, with_chosen
    from finetune.task_types.parts import Answer, BatchMaker
    from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, marks_of_both, paired_spans
    from finetune.task_types.pretraining.task import TextTask
    from finetune.task_types.span.questions import SpanRow
    from finetune.task_types.span.task import SpanTask
    from finetune.task_types.tagging.findings import SPAN, changed_span_findings
    from finetune.task_types.tagging.guess import span_layout, words_and_tags
    from finetune.task_types.tagging.own import Tagging, with_signs
    from finetune.task_types.tagging.segments import changed_spans, segmented, tags_for
    from finetune.task_types.tagging.task import TaggingRow, TaggingTask, entities_of
    from finetune.task_types.task import Task

__all__ = [
    "MISSING_TEXT",
    "SPAN",
    "Ambiguous",
    "Answer",
    "Asked",
    "BatchMaker",
    "ChoiceRow",
    "ChoiceTask",
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
    "OwnType",
    "Pick",
    "PooledTask",
    "Predictions",
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
    "TextRow",
    "TextTask",
    "TextType",
    "changed_span_findings",
    "changed_spans",
    "entities_of",
    "marks_of_both",
    "option",
    "paired_spans",
    "segmented",
    "span_layout",
    "tags_for",
    "unusable",
    "with_chosen",
    "with_markers",
    "with_signs",
    "words_and_tags",
]
__getattr__ = names_of(
    __name__,
    {
        "data.issues": "Finding",
        "data.rows": "Rows",
        "task_types.candidates": "Ambiguous",
        "task_types.choice.task": "ChoiceRow ChoiceTask",
        "task_types.classification.marked": "EntitySpan with_markers",
        "task_types.classification.own": "TextType",
        "task_types.classification.task": "MultiLabelRow MultiLabelTask SentenceRow SentenceTask",
        "task_types.classification.texts": "PooledTask TextRow",
        "task_types.columns": "Layout MISSING_TEXT NoRow unusable",
        "task_types.declared": "option",
        "task_types.explained": "Asked ExplainTarget NamedText Pick Target",
        "task_types.findings": "SplitRows",
        "task_types.own_type": "Evidence OwnType with_chosen",
        "task_types.parts": "Answer BatchMaker",
        "task_types.predictions": "DecisionRow Decisions Line Predictions marks_of_both paired_spans",
        "task_types.pretraining.task": "TextTask",
        "task_types.span.questions": "SpanRow",
        "task_types.span.task": "SpanTask",
        "task_types.tagging.findings": "SPAN changed_span_findings",
        "task_types.tagging.guess": "span_layout words_and_tags",
        "task_types.tagging.own": "Tagging with_signs",
        "task_types.tagging.segments": "changed_spans segmented tags_for",
        "task_types.tagging.task": "TaggingRow TaggingTask entities_of",
        "task_types.task": "Task",
    },
)
