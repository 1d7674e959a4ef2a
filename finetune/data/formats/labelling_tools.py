"""Converts exports of labelling tools to plain rows: Label Studio, Prodigy, spaCy, Dataturks (doccano's are plain).

Spans of characters stay lists, as the tool wrote them: `char_spans` reads them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

TECHNICAL = ("_input_hash", "_task_hash", "_view_id", "_timestamp", "_session_id", "_annotator_id", "tokens")


def plain_rows(content: Sequence[Any]) -> list[Any]:
    """The rows of a JSON list: spaCy's pairs `["text", {"entities": ...}]` as objects, all others as they are."""
    if content and all(_is_spacy(item) for item in content):
        return [{"text": text, **annotations} for text, annotations in content]
    if content and all(map(_is_label_studio, content)):
        return _with_empty_lists(content)
    return list(content)


def plain_row(given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """(a row's columns, why it cannot be used) of an object, whether or not a tool wrote it."""
    if _is_label_studio(given):
        return _label_studio(given), ""
    if isinstance(given.get("annotation"), list) and any(map(_is_dataturks, given["annotation"])):
        return _dataturks(given), ""
    if "_input_hash" in given or ("spans" in given and "answer" in given):
        return _prodigy(given)
    return {key: _with_ends(_choices(value)) for key, value in given.items()}, ""


def _is_spacy(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict)


def _is_label_studio(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("data"), dict) and _annotations(item) is not None


def _with_empty_lists(tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of all tasks; an annotated one without spans or choices gets an empty list where others have several."""
    rows = [_label_studio(task) for task in tasks]
    lists = {
        name
        for row, task in zip(rows, tasks, strict=True)
        for name, value in row.items()
        if isinstance(value, list) and value and name not in task["data"]
    }
    for row, task in zip(rows, tasks, strict=True):
        for name in lists if _done(task) else ():
            row.setdefault(name, [])
    return rows


def _done(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The annotations of a task that were not cancelled."""
    return [each for each in _annotations(task) or () if isinstance(each, dict) and not each.get("was_cancelled")]


def _annotations(given: Mapping[str, Any]) -> list[Any] | None:
    found = given.get("annotations", given.get("completions"))
    return found if isinstance(found, list) else None


def _label_studio(given: Mapping[str, Any]) -> dict[str, Any]:
    """The task's data, and each control's value in its first annotation that was not cancelled; those of further ones
    are columns such as `sentiment (annotator 2)`.
    """
    row: dict[str, Any] = {"id": given.get("id"), **given["data"]}
    done = _done(given)
    for number, annotation in enumerate(done, start=1):
        values = _controls(annotation)
        row |= values if number == 1 else {f"{name} (annotator {number})": value for name, value in values.items()}
    return row


def _controls(annotation: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for result in annotation.get("result") or []:
        value = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, dict):
            continue
        name = str(result.get("from_name", result.get("type", "label")))
        if "start" in value and "end" in value:
            spans = row.setdefault(name, [])
            if isinstance(spans, list):
                spans.append({key: value[key] for key in value if key != "globalOffsets"})
        else:
            row[name] = _plain_value(value)
    return row


def _plain_value(value: Mapping[str, Any]) -> Any:
    """The value of a control without spans: its choice or choices, a rating, a number, a text."""
    for key in ("choices", "taxonomy", "text"):
        if isinstance(value.get(key), list):
            found = [" / ".join(map(str, one)) if isinstance(one, list) else one for one in value[key]]
            return found[0] if len(found) == 1 else found
    return next((value[key] for key in ("rating", "number", "datetime", "text") if key in value), dict(value))


def _with_ends(value: Any) -> Any:
    """Objects that give a span as `{"span": [0, 3]}` with `start` and `end`; anything else as it is."""
    if not isinstance(value, list) or not value or not all(map(_is_short_span, value)):
        return value
    return [{"start": item["span"][0], "end": item["span"][1], **item} for item in value]


def _is_short_span(item: Any) -> bool:
    span = item.get("span") if isinstance(item, dict) else None
    return isinstance(span, list) and len(span) == 2 and all(isinstance(place, int) for place in span)


def _choices(value: Any) -> Any:
    """The list in `{"choices": [...]}`, as Label Studio's short form writes several."""
    return value["choices"] if isinstance(value, dict) and list(value) == ["choices"] else value


def _is_dataturks(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("points"), list)


def _dataturks(given: Mapping[str, Any]) -> dict[str, Any]:
    """Dataturks' spans with exclusive ends; in the file they are inclusive."""
    spans = [
        {"start": point["start"], "end": point["end"] + 1, "label": label}
        for item in given["annotation"]
        for point in item["points"]
        for label in item.get("label", ())
        if isinstance(point, dict) and {"start", "end"} <= set(point)
    ]
    return {**{key: value for key, value in given.items() if key != "annotation"}, "annotation": spans}


def _prodigy(given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Prodigy's annotation. Rejected spans and choices are faults; a rejected label is `reject`."""
    row = {key: value for key, value in given.items() if key not in TECHNICAL}
    answer = row.get("answer")
    if answer == "ignore" or (answer == "reject" and ("spans" in row or "accept" in row)):
        return row, f"was not accepted in the labelling tool (its answer: '{answer}')"
    if "spans" in row or "accept" in row:
        row.pop("answer", None)
        row.pop("options", None)
    return row, ""
