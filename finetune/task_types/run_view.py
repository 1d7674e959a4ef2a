"""The view of a run's predictions: the one way in which reports, commands and the Python API read them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.task_types.registry import available
from finetune.task_types.types import type_of, view_of
from finetune.task_types.view import Line, View


def split_view_of(record: RunRecord, folder: RunFolder, split: str, lines: Sequence[Line]) -> View | None:
    """The view of a run's predictions of a split, by the type that its recipe names, with the names of its labels.

    The names are those of the saved model; without the model, those by which the record's scores are told apart. None
    where no line has a label, or no type fits.
    """
    shape = (record.recipe.get("options") or {}).get("shape", "")
    settings = saved_config(folder.model)
    view = view_of(lines, _saved_labels(settings), name=shape or _guessed_type(record, settings))
    if view is not None:
        view = replace(view, order=_saved_order(settings))
    if view is not None and not shape and (task := available().get(record.task)) is not None:
        view = view.for_task(task)
    if view is None or view.labels or not view.names_in_scores:
        return view
    groups = dict.fromkeys(name.rpartition("/")[0] for name in record.scores.get(split, {}) if "/" in name)
    return replace(view, labels=list(groups))


def _guessed_type(record: RunRecord, settings: Mapping[str, Any]) -> str:
    """The type that was guessed of the run's data, or is that of its task; empty where it is not known."""
    if shape := _saved_layout(settings).get("shape", ""):
        return str(shape)
    task = available().get(record.task)
    kind = None if task is None else type_of(task)
    return "" if kind is None else kind.name


def saved_config(model: Path) -> dict[str, Any]:
    """The config of a saved model; empty where it is missing or damaged, since a report works without it."""
    try:
        found = json.loads((model / "config.json").read_text(encoding="utf-8"))
        return found if isinstance(found.get("finetune", {}), dict) else {}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _saved_labels(settings: Mapping[str, Any]) -> list[str]:
    """Label names in the order of the probabilities; empty where they are not known. The logits of steps are fewer."""
    own = settings.get("finetune", {}).get("options", {})
    if isinstance(own, dict) and own.get("ordinal") and (order := _saved_order(settings)):
        return order
    try:
        names = settings["id2label"]
        return [str(names[str(index)]) for index in range(len(names))]
    except (LookupError, TypeError):
        return []


def _saved_order(settings: Mapping[str, Any]) -> list[str]:
    """The labels from lowest to highest; empty where they have no order."""
    order = _saved_layout(settings).get("order", ())
    return list(map(str, order)) if isinstance(order, list) else []


def _saved_layout(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    found = settings.get("finetune", {}).get("layout", {})
    return found if isinstance(found, dict) else {}
