"""Exports of labelling tools as plain rows, in JSON and JSON Lines alike; their spans stay as a tool wrote them.

What tools call the parts of a span is in `spans.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice
from typing import Any

from finetune.data.formats.spans import is_place
from finetune.data.values import as_list

PRODIGY = ("_input_hash", "_task_hash", "_view_id", "_timestamp", "_session_id", "_annotator_id", "tokens")
ARGILLA = ("prediction", "prediction_agent", "annotation_agent", "status", "vectors", "metrics", "explanation")
TACRED = ("subj_start", "subj_end", "obj_start", "obj_end")
VALUES = ("choices", "taxonomy", "text", "rating", "number", "datetime")  # of Label Studio's controls without spans


def tool_rows(values: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    """(a row's columns, why it cannot be used) of each value of a file, whether or not a tool wrote it.

    Of Label Studio, an annotated task without spans or choices has an empty list where other tasks have several.
    """
    coming = iter(values)
    start = list(islice(coming, 1))
    if not any(map(_is_label_studio, start)):
        for part in (start, coming):
            yield from map(_tool_row, part)
        return
    tasks = [*start, *coming]
    rows = [_tool_row(task) for task in tasks]
    both = [(task, row) for task, (row, _) in zip(tasks, rows, strict=True) if _is_label_studio(task)]
    lists = {name for task, row in both for name in row.keys() - task["data"].keys() if isinstance(row[name], list)}
    for task, row in both:
        row.update({name: [] for name in lists - row.keys()} if _done(task) else {})
    yield from rows


def is_pair(value: Any) -> bool:
    """Whether a value is a text with its annotations, `["text", {"entities": ...}]`, of spaCy or NER Annotator."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)


def in_plain_form(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with tokens and spans of them, which end with their last token, as a text with spans of characters: that of
    GLiNER, and that of TACRED, whose features of each token are left out. Any other row is unchanged.
    """
    tokens = as_list(row.get("tokenized_text", row.get("token", row.get("tokens"))))
    gliner = as_list(row.get("ner")) if "tokenized_text" in row else None
    if not tokens or not (all(map(_is_token_span, gliner)) if gliner else all(is_place(row.get(n)) for n in TACRED)):
        return {"text": " ".join(map(str, tokens)), "entities": []} if tokens and gliner == [] else row
    text = " ".join(map(str, tokens))
    starts = [0, *accumulate(len(str(token)) + 1 for token in tokens)]

    def place(first: int, last: int) -> tuple[int, int]:
        """Outside the text for tokens that are not there, which the reader of spans counts."""
        return (starts[first], starts[last + 1] - 1) if last < len(tokens) else (len(text), len(text) + 1)

    kept = {name: cell for name, cell in row.items() if not isinstance(cell, list) and name not in TACRED}
    if gliner is None:
        for name in ("subj", "obj"):
            start, end = place(row[f"{name}_start"], row[f"{name}_end"])
            kind = {"type": kept.pop(f"{name}_type")} if f"{name}_type" in kept else {}
            kept |= {f"{name}ect": {"start": start, "end": end, "word": text[start:end], **kind}}
        return {"text": text, **kept}
    spans = [(*place(first, last), kinds) for first, last, kinds in gliner]
    listed = [[a, b, kind] for a, b, kinds in spans for kind in (kinds if isinstance(kinds, list) else [kinds])]
    return {"text": text, "entities": listed, **kept}


def _is_token_span(item: Any) -> bool:
    return isinstance(item, list) and len(item) == len(("first", "last", "label")) and all(map(is_place, item[:2]))


def _tool_row(value: Any) -> tuple[Any, str]:
    if value is None:
        return {}, "was skipped in the labelling tool (null)"
    if is_pair(value):
        return {"text": value[0], **value[1]}, ""
    if not isinstance(value, dict):
        return value, ""
    if _is_label_studio(value):
        return _label_studio(value), ""
    if {"prediction", "annotation"} <= value.keys() and not value.keys().isdisjoint(("status", "annotation_agent")):
        row = {name: cell for name, cell in value.items() if name not in ARGILLA}  # the person's annotation alone
        return row, "was discarded in the labelling tool" if value.get("status") == "Discarded" else ""
    if "responses" in value and "suggestions" in value:  # of Argilla 2: the person's alone
        value = {name: cell for name, cell in value.items() if name != "suggestions"}
    asked = {str(name).removesuffix(".responses") for name in value if str(name).endswith(".responses")}
    value = {name: cell for name, cell in value.items() if str(name).partition(".suggestion")[0] not in asked}
    if "_input_hash" in value or ("spans" in value and "answer" in value):
        return _prodigy(value)
    return {name: _plain_cell(cell) for name, cell in value.items()}, ""


def _is_label_studio(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return False
    return isinstance(value.get("annotations", value.get("completions")), list)


def _done(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The annotations of a task of Label Studio that were not cancelled."""
    annotations = task.get("annotations", task.get("completions")) or ()
    return [one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled")]


def _label_studio(task: Mapping[str, Any]) -> dict[str, Any]:
    """The task's data, and the value of each control in its first annotation that was not cancelled; those of further
    ones are columns such as `sentiment (annotator 2)`. A control has a list of spans, a value, or a list of values.
    """
    row: dict[str, Any] = {"id": task.get("id"), **task["data"]}
    for number, annotation in enumerate(_done(task), start=1):
        values: dict[str, Any] = {}
        results = (result for result in annotation.get("result") or () if isinstance(result, dict))
        for result in results:
            value = result.get("value")
            name = str(result.get("from_name", result.get("type", "label")))
            name = name if number == 1 else f"{name} (annotator {number})"
            if not isinstance(value, dict):
                continue
            if "start" in value and "end" in value:
                values.setdefault(name, []).append({key: value[key] for key in value if key != "globalOffsets"})
                continue
            cell = next((value[key] for key in VALUES if key in value), dict(value))
            if isinstance(cell, list):
                cell = [" / ".join(map(str, part)) if isinstance(part, list) else part for part in cell]
            values[name] = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
        row |= values
    return row


def _prodigy(value: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Prodigy's annotation. Rejected spans and choices are faults; a rejected label is `reject`."""
    answer, chosen = value.get("answer"), "spans" in value or "accept" in value
    left_out = (*PRODIGY, "answer", "options") if chosen else PRODIGY
    rejected = answer == "ignore" or (answer == "reject" and chosen)
    why = f"was not accepted in the labelling tool (its answer: '{answer}')" if rejected else ""
    return {name: cell for name, cell in value.items() if name not in left_out}, why


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
