"""The task that a layout describes, the shape of a task, and what a saved model keeps of its data's columns."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from finetune.errors import UserError, first_line
from finetune.metrics.metric import Metric
from finetune.metrics.scores import accuracy, class_metric, macro_f1, pearson, spearman
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.columns import Layout, Shape
from finetune.task_types.multilabel.task import MultiLabelTask
from finetune.task_types.sentence.task import SentenceTask
from finetune.task_types.span.task import SpanTask
from finetune.task_types.tagging.task import TaggingTask
from finetune.task_types.task import Task

SHAPES = (SentenceTask, MultiLabelTask, TaggingTask, SpanTask, ChoiceTask)
MOST_CLASSES = 50  # of which scores are given for each


def trained_task(layout: Layout, *, name: str, read: Any = None) -> Task:
    """The task that a layout describes; without a reader it only predicts."""
    given: dict[str, Any] = {"name": name, "read": read}
    if layout.shape == "tagging":
        return TaggingTask(types=layout.labels, running_text=bool(layout.spans), **given)
    if layout.shape == "span":
        return SpanTask(unanswerable=layout.unanswerable, **given)
    if layout.shape == "choice":
        lettered = layout.choices_by == "letter"
        return ChoiceTask(counted_from=layout.counted_from, lettered=lettered, **given)
    if layout.shape == "multi-label":
        return MultiLabelTask(labels=layout.labels, windows=True, **given)
    metrics: tuple[Metric, ...] = (spearman, pearson)
    if layout.shape == "classification":
        metrics = (macro_f1, accuracy)
        if len(layout.labels) <= MOST_CLASSES:
            parts = ("f1", "precision", "recall")
            metrics += tuple(class_metric(label, part) for label in layout.labels for part in parts)
    labels = layout.labels if layout.shape == "classification" else ()
    return SentenceTask(labels=labels, metrics=metrics, windows=True, **given)


def shape_of(task: Task) -> Shape | None:
    """The shape whose files a task's model can read; None for a shape that is not one of the package's."""
    if isinstance(task, SentenceTask):
        return "regression" if task.regression else "classification"
    kinds: tuple[tuple[type[Task], Shape], ...] = (
        (MultiLabelTask, "multi-label"),
        (TaggingTask, "tagging"),
        (SpanTask, "span"),
        (ChoiceTask, "choice"),
    )
    return next((shape for kind, shape in kinds if isinstance(task, kind)), None)


def layout_of(task: Task) -> dict[str, Any] | None:
    """What a saved model must know of its data's columns, as JSON; None for a task that is not a user's own."""
    layout = getattr(getattr(task, "read", None), "layout", None)
    return {**asdict(layout), "reasons": {}, "rivals": ()} if isinstance(layout, Layout) else None


def columns_of(task: Task) -> dict[str, Any]:
    """What a saved model keeps of its data's columns, as far as it decides answers; for a user's own data alone."""
    layout = getattr(getattr(task, "read", None), "layout", None)
    if not isinstance(layout, Layout):
        return {}
    left_out = ("id", "group", "reasons", "rivals")
    kept = {field.name: field.default for field in fields(Layout) if field.name not in left_out}
    return {name: value for name, default in kept.items() if (value := getattr(layout, name)) not in (default, {})}


def layout_from(saved: Mapping[str, Any]) -> Layout:
    """A layout as `layout_of` gave it. Raises UserError for one of another version."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in saved.items()}
    try:
        return Layout(**values)
    except TypeError as error:
        raise UserError(
            f"the model's layout of columns is of another version of finetune ({first_line(error)})",
            "Use that version, or train it again",
        ) from error
