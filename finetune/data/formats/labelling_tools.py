"""Exports of labelling tools as plain rows: Label Studio, Prodigy, spaCy; their spans stay as a tool wrote them.

What tools call the parts of a span is in `spans.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

PRODIGY = ("_input_hash", "_task_hash", "_view_id", "_timestamp", "_session_id", "_annotator_id", "tokens")
VALUES = ("choices", "taxonomy", "text", "rating", "number", "datetime")  # of Label Studio's controls without spans


def is_pair(value: Any) -> bool:
    """Whether a value is a text with its annotations, `["text", {"entities": ...}]`, of spaCy or NER Annotator."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)


def is_label_studio(value: Any) -> bool:
    """Whether a value is a task of Label Studio with its annotations."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return False
    return isinstance(value.get("annotations", value.get("completions")), list)


def plain_row(value: Any) -> tuple[Any, str]:
    """(a row's columns, why it cannot be used) of a value of a file, whether or not a tool wrote it."""
    if value is None:
        return {}, "was skipped in the labelling tool (null)"
    if is_pair(value):
        return {"text": value[0], **value[1]}, ""
    if not isinstance(value, dict):
        return value, ""
    cells = {name: _plain_cell(cell) for name, cell in value.items()}
    answer = value.get("answer")
    if "answer" not in value or not ({"_input_hash", "spans"} & value.keys()):
        return cells, ""
    shown = "_input_hash" in value and not {"spans", "accept"} & value.keys()  # `reject` may be of one label
    why = f"was not accepted in the labelling tool (answer: '{answer}')"
    left_out = {*PRODIGY, "options"} | (set() if shown else {"answer"})
    plain = {name: cell for name, cell in cells.items() if name not in left_out}
    return plain, why if answer == "ignore" or (answer == "reject" and not shown) else ""


def label_studio_rows(tasks: Sequence[Any]) -> list[Any]:
    """The rows of Label Studio's tasks. A task that was annotated and has no span or choice has an empty list where
    other tasks have several.
    """
    rows = [_label_studio(task) if is_label_studio(task) else task for task in tasks]
    both = [(task, row) for task, row in zip(tasks, rows, strict=True) if is_label_studio(task)]
    lists = {name for task, row in both for name in row.keys() - task["data"].keys() if isinstance(row[name], list)}
    for task, row in both:
        row |= {name: [] for name in sorted(lists - row.keys()) if _done(task)}
    return rows


def _done(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    annotations = task.get("annotations", task.get("completions")) or ()
    return [note for note in annotations if isinstance(note, dict) and not note.get("was_cancelled")]


def _label_studio(task: Mapping[str, Any]) -> dict[str, Any]:
    """The task's data, and the value of each control in its first annotation that was not cancelled; further
    annotations become columns such as `sentiment (annotator 2)`. A control has a list of spans, a value, or a list of
    values.
    """
    row: dict[str, Any] = {"id": task.get("id"), **task["data"]}
    for number, annotation in enumerate(_done(task), start=1):
        values: dict[str, Any] = {}
        for result in annotation.get("result") or ():
            value = result.get("value") if isinstance(result, dict) else None
            if not isinstance(value, dict):
                continue
            name = str(result.get("from_name", result.get("type", "label")))
            name += "" if number == 1 else f" (annotator {number})"
            if "start" in value and "end" in value:
                values.setdefault(name, []).append({key: value[key] for key in value if key != "globalOffsets"})
                continue
            cell = next((value[key] for key in VALUES if key in value), dict(value))
            if isinstance(cell, list):
                cell = [" / ".join(map(str, part)) if isinstance(part, list) else part for part in cell]
            values[name] = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
        row |= values
    return row


def _plain_cell(cell: Any) -> Any:
    """The list in `{"choices": [...]}`, as Label Studio's short form writes several, and objects that give a span as
    `{"span": [0, 3]}` with its start and end; anything else unchanged.
    """
    if isinstance(cell, dict) and list(cell) == ["choices"]:
        return cell["choices"]
    spans = [item.get("span") if isinstance(item, dict) else None for item in cell] if isinstance(cell, list) else []
    if not spans or not all(isinstance(span, list) and [*map(type, span)] == [int, int] for span in spans):
        return cell
    return [{"start": item["span"][0], "end": item["span"][1], **item} for item in cell]
