"""Exports of labelling tools as plain rows, in JSON and JSON Lines alike; their spans stay as a tool wrote them.

What tools call the parts of a span is in `spans.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, chain, islice
from typing import Any

from finetune.data.formats.spans import is_place
from finetune.data.values import as_list

PRODIGY = ("_input_hash", "_task_hash", "_view_id", "_timestamp", "_session_id", "_annotator_id", "tokens")
ARGILLA = ("prediction", "prediction_agent", "annotation_agent", "status", "vectors", "metrics", "explanation")
# Tools by columns of their rows; columns of theirs that are no data; the column, and its values, of rows not accepted.
TOOLS: tuple[tuple[set[str], tuple[str, ...], str, tuple[str, ...]], ...] = (
    ({"prediction", "annotation", "status"}, ARGILLA, "status", ("Discarded",)),
    ({"prediction", "annotation", "annotation_agent"}, ARGILLA, "", ()),  # a person's annotation alone is read
    ({"responses", "suggestions"}, ("suggestions",), "", ()),  # of Argilla 2
    ({"_input_hash"}, PRODIGY, "answer", ("ignore",)),  # a rejected label of Prodigy is `reject`
    ({"spans", "answer"}, (*PRODIGY, "answer", "options"), "answer", ("ignore", "reject")),
    ({"_input_hash", "accept"}, ("answer", "options"), "answer", ("ignore", "reject")),
)
TACRED = ("subj_start", "subj_end", "obj_start", "obj_end")
VALUES = ("choices", "taxonomy", "text", "rating", "number", "datetime")  # of Label Studio's controls without spans


def tool_rows(values: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    """(a row's columns, why it cannot be used) of each value of a file, whether or not a tool wrote it.

    Of Label Studio, an annotated task without spans or choices has an empty list where other tasks have several.
    """
    coming = iter(values)
    first = list(islice(coming, 1))
    if not any(map(_is_label_studio, first)):
        yield from map(_tool_row, chain(first, coming))
        return
    rows = [(task, *_tool_row(task)) for task in chain(first, coming)]
    tasks = [(task, row) for task, row, _ in rows if _is_label_studio(task)]
    lists = {name for task, row in tasks for name in row.keys() - task["data"].keys() if isinstance(row[name], list)}
    for task, row, why in rows:
        done = _is_label_studio(task) and _done(task)
        yield (row | {name: [] for name in sorted(lists - row.keys())} if done else row), why


def is_pair(value: Any) -> bool:
    """Whether a value is a text with its annotations, `["text", {"entities": ...}]`, of spaCy or NER Annotator."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)


def in_plain_form(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with tokens and spans of them, which end with their last token, as a text with spans of characters: that of
    GLiNER, and that of TACRED, whose features of each token are left out. Any other row is unchanged.
    """
    tokens = as_list(row.get("tokenized_text", row.get("token", row.get("tokens"))))
    gliner = as_list(row.get("ner")) if "tokenized_text" in row else None
    if not tokens or not (all(map(is_place, map(row.get, TACRED))) if gliner is None else all(map(_on_tokens, gliner))):
        return row
    text = " ".join(map(str, tokens))
    starts = [0, *accumulate(len(str(token)) + 1 for token in tokens)]

    def place(first: int, last: int) -> tuple[int, int]:
        """Outside the text for tokens that are not there, which the reader of spans counts."""
        return (starts[first], starts[last + 1] - 1) if last < len(tokens) else (len(text), len(text) + 1)

    plain = {"text": text, **{n: cell for n, cell in row.items() if not isinstance(cell, list) and n not in TACRED}}
    if gliner is not None:
        spans = [(*place(first, last), kinds if isinstance(kinds, list) else [kinds]) for first, last, kinds in gliner]
        return plain | {"entities": [[start, end, kind] for start, end, kinds in spans for kind in kinds]}
    for name in ("subj", "obj"):
        start, end = place(row[f"{name}_start"], row[f"{name}_end"])
        kind = {"type": plain.pop(f"{name}_type")} if f"{name}_type" in plain else {}
        plain[f"{name}ect"] = {"start": start, "end": end, "word": text[start:end], **kind}
    return plain


def _on_tokens(item: Any) -> bool:
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
    tools = [tool for tool in TOOLS if tool[0] <= value.keys()]
    rejected = [name for _, _, name, values in tools if value.get(name) in values]
    why = f"was not accepted in the labelling tool ({rejected[0]}: '{value[rejected[0]]}')" if rejected else ""
    left_out = {name for _, names, _, _ in tools for name in names}
    answered = {str(name).removesuffix(".responses") for name in value if str(name).endswith(".responses")}
    return {
        name: _plain_cell(cell)
        for name, cell in value.items()
        if name not in left_out and str(name).partition(".suggestion")[0] not in answered
    }, why


def _is_label_studio(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return False
    return isinstance(value.get("annotations", value.get("completions")), list)


def _done(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The annotations of a task of Label Studio that were not cancelled."""
    annotations = task.get("annotations", task.get("completions")) or ()
    return [note for note in annotations if isinstance(note, dict) and not note.get("was_cancelled")]


def _label_studio(task: Mapping[str, Any]) -> dict[str, Any]:
    """The task's data, and the value of each control in its first annotation that was not cancelled; those of further
    ones are columns such as `sentiment (annotator 2)`. A control has a list of spans, a value, or a list of values.
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
