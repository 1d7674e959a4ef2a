"""Exports of labelling tools as plain rows: of Label Studio, Prodigy and spaCy (doccano's are plain).

Spans stay as a tool wrote them: `finetune/data/span_form.py` has the names that tools give to start, end and label.
"""

from collections.abc import Mapping, Sequence
from typing import Any

TECHNICAL = ("_input_hash", "_task_hash", "_view_id", "_timestamp", "_session_id", "_annotator_id", "tokens")
VALUES = ("choices", "taxonomy", "text", "rating", "number", "datetime")  # of Label Studio's controls without spans


def plain_rows(content: Sequence[Any]) -> list[Any]:
    """The rows of a JSON list: spaCy's pairs `["text", {"entities": ...}]` as objects, all others unchanged."""
    if content and all(_is_spacy(item) for item in content):
        return [{"text": text, **annotations} for text, annotations in content]
    if content and all(map(_is_label_studio, content)):
        return _with_empty_lists(content)
    return list(content)


def plain_row(given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """(a row's columns, why it cannot be used) of an object, whether or not a tool wrote it."""
    if _is_label_studio(given):
        return _label_studio(given), ""
    if "_input_hash" in given or ("spans" in given and "answer" in given):
        return _prodigy(given)
    return {key: _with_ends(_choices(value)) for key, value in given.items()}, ""


def _is_spacy(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict)


def _is_label_studio(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("data"), dict) and _annotations(item) is not None


def _annotations(task: Mapping[str, Any]) -> list[Any] | None:
    found = task.get("annotations", task.get("completions"))
    return found if isinstance(found, list) else None


def _done(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The annotations of a task that were not cancelled."""
    return [one for one in _annotations(task) or () if isinstance(one, dict) and not one.get("was_cancelled")]


def _with_empty_lists(tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of all tasks; an annotated one without spans or choices gets an empty list where others have several."""
    rows = [_label_studio(task) for task in tasks]
    both = list(zip(rows, tasks, strict=True))
    lists = {name for row, task in both for name in row.keys() - task["data"].keys() if isinstance(row[name], list)}
    for row, task in both:
        for name in lists if _done(task) else ():
            row.setdefault(name, [])
    return rows


def _label_studio(given: Mapping[str, Any]) -> dict[str, Any]:
    """The task's data, and each control's value in its first annotation that was not cancelled; those of further ones
    are columns such as `sentiment (annotator 2)`.
    """
    row: dict[str, Any] = {"id": given.get("id"), **given["data"]}
    for number, annotation in enumerate(_done(given), start=1):
        values = _controls(annotation)
        row |= values if number == 1 else {f"{name} (annotator {number})": value for name, value in values.items()}
    return row


def _controls(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """A list of spans, or the one value or list of values, of each control."""
    row: dict[str, Any] = {}
    for result in annotation.get("result") or []:
        value = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, dict):
            continue
        name = str(result.get("from_name", result.get("type", "label")))
        if "start" in value and "end" in value:
            row.setdefault(name, []).append({key: value[key] for key in value if key != "globalOffsets"})
            continue
        found = next((value[key] for key in VALUES if key in value), dict(value))
        if isinstance(found, list):
            found = [" / ".join(map(str, one)) if isinstance(one, list) else one for one in found]
        row[name] = found[0] if isinstance(found, list) and len(found) == 1 else found
    return row


def _prodigy(given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Prodigy's annotation. Rejected spans and choices are faults; a rejected label is `reject`."""
    row = {key: value for key, value in given.items() if key not in TECHNICAL}
    answer, chosen = row.get("answer"), "spans" in row or "accept" in row
    if answer == "ignore" or (answer == "reject" and chosen):
        return row, f"was not accepted in the labelling tool (its answer: '{answer}')"
    return {key: value for key, value in row.items() if not chosen or key not in ("answer", "options")}, ""


def _with_ends(value: Any) -> Any:
    """Objects that give a span as `{"span": [0, 3]}` with `start` and `end`; anything else unchanged."""
    if not isinstance(value, list) or not value or not all(map(_is_short_span, value)):
        return value
    return [{"start": item["span"][0], "end": item["span"][1], **item} for item in value]


def _is_short_span(item: Any) -> bool:
    span = item.get("span") if isinstance(item, dict) else None
    return isinstance(span, list) and len(span) == 2 and all(isinstance(place, int) for place in span)


def _choices(value: Any) -> Any:
    """The list in `{"choices": [...]}`, as Label Studio's short form writes several."""
    return value["choices"] if isinstance(value, dict) and list(value) == ["choices"] else value
