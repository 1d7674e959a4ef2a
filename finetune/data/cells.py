"""From a record to a row of the task's shape: what the layout says of its cells, and why some records make no row."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from finetune.answer_place import located
from finetune.chunks import to_iob2
from finetune.columns import TAG
from finetune.data.kinds import as_number, as_text, is_missing
from finetune.data.layout import Layout, Shape, labels_of, tags_of
from finetune.data.reading import Record
from finetune.heads.choice import ChoiceRow
from finetune.heads.multilabel import MultiLabelRow
from finetune.heads.sentence import SentenceRow
from finetune.heads.span import SpanRow
from finetune.heads.tagging import TaggingRow
from finetune.task import Row


class NoRow(Exception):
    """Why a record makes no row, in words that go after `row 5`."""


def row_of(layout: Layout, record: Record) -> Row:
    """The row in a record; its gold is None where the label is missing. Raises NoRow."""
    if record.fault:
        raise NoRow(record.fault)
    given = as_text(record.values.get(layout.id)).strip() if layout.id else ""
    return BUILDERS[layout.shape](layout, record.values, given or str(record.row))


def _classification(layout: Layout, values: Mapping[str, Any], name: str) -> SentenceRow:
    text, pair = _texts(layout, values)
    cell = _label(layout, values)
    return SentenceRow(id=name, text=text, pair=pair, gold=None if is_missing(cell) else as_text(cell).strip())


def _regression(layout: Layout, values: Mapping[str, Any], name: str) -> SentenceRow:
    text, pair = _texts(layout, values)
    cell = _label(layout, values)
    number = as_number(cell)
    if number is None and not is_missing(cell):
        raise NoRow(f"has the label {_short(cell)}, which is no number")
    return SentenceRow(id=name, text=text, pair=pair, gold=number)


def _multi_label(layout: Layout, values: Mapping[str, Any], name: str) -> MultiLabelRow:
    text, pair = _texts(layout, values)
    return MultiLabelRow(id=name, text=text, pair=pair, gold=_several(layout, values))


def _several(layout: Layout, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The labels of a row in their order; an empty list is a row that has none."""
    if len(layout.label) > 1:
        marks = {name: as_text(values.get(name)).strip().lower() for name in layout.label}
        if not any(marks.values()):
            return None
        if wrong := [name for name, mark in marks.items() if mark not in ("", "0", "1", "true", "false")]:
            raise NoRow(f"has {_short(values[wrong[0]])} in the column '{wrong[0]}', where 0 or 1 must stand")
        return tuple(name for name, mark in marks.items() if mark in ("1", "true"))
    cell = _label(layout, values)
    if is_missing(cell):
        return None
    found = labels_of(cell, layout.separator)
    return tuple(sorted(found, key=lambda name: layout.labels.index(name) if name in layout.labels else -1))


def _tagging(layout: Layout, values: Mapping[str, Any], name: str) -> TaggingRow:
    cell = values.get(layout.text[0])
    words = [as_text(word) for word in cell] if isinstance(cell, list) else as_text(cell).split()
    if not words:
        raise NoRow(f"has no words in the column '{layout.text[0]}'")
    if not all(word.strip() for word in words):
        raise NoRow(f"has an empty word in the column '{layout.text[0]}'")
    gold = _label(layout, values)
    document = as_text(values.get("document")).strip()
    document = "" if document == "0" else document
    if is_missing(gold):
        return TaggingRow(id=name, words=tuple(words), document=document)
    tags = tags_of(gold)
    if len(tags) != len(words):
        raise NoRow(f"has {len(words)} words and {len(tags)} tags")
    if wrong := [tag for tag in tags if not TAG.fullmatch(tag)]:
        raise NoRow(f"has the tag {_short(wrong[0])}; tags are O, or B, I, E, S, L or U, a hyphen and a type")
    return TaggingRow(id=name, words=tuple(words), gold=tuple(to_iob2(tags)), document=document)


def _span(layout: Layout, values: Mapping[str, Any], name: str) -> SpanRow:
    question, context = _texts(layout, values)
    if context is None:
        raise NoRow("needs a question and a context")
    cell = _label(layout, values)
    title = as_text(values.get("title"))
    if not layout.label or (cell is None and layout.label[0] in values):
        return SpanRow(id=name, question=question, context=context, title=title)
    pairs = answers_of(cell, values.get("answer_start"))
    if not pairs:
        return SpanRow(id=name, question=question, context=context, answers=(), title=title)
    text, given = pairs[0]
    start = context.find(text) if given is None else located(context, text, given)
    return SpanRow(
        id=name,
        question=question,
        context=context,
        answers=tuple(text for text, _ in pairs),
        start=None if start is None or start < 0 else start,
        title=title,
    )


def answers_of(cell: Any, start: Any) -> list[tuple[str, int | None]]:
    """(text, where it begins) of each answer, in whichever way a cell has them."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            cell = json.loads(cell)
    if isinstance(cell, dict) and isinstance(cell.get("text"), list):
        starts = cell.get("answer_start") or [None] * len(cell["text"])
        cell = [{"text": text, "answer_start": place} for text, place in zip(cell["text"], starts, strict=False)]
    if not isinstance(cell, list):
        cell = [] if is_missing(cell) else [{"text": as_text(cell), "answer_start": start}]
    pairs = []
    for answer in cell:
        found = answer if isinstance(answer, dict) else {"text": answer}
        place = as_number(found.get("answer_start"))
        pairs.append((as_text(found.get("text")), None if place is None else int(place)))
    return [(text, place) for text, place in pairs if text.strip()]


def _choice(layout: Layout, values: Mapping[str, Any], name: str) -> ChoiceRow:
    context, *columns = layout.text
    cells = [values.get(column) for column in columns]
    choices = cells[0] if len(cells) == 1 and isinstance(cells[0], list) else [c for c in cells if not is_missing(c)]
    texts = tuple(as_text(choice) for choice in choices)
    if is_missing(values.get(context)):
        raise NoRow(f"has no text in the column '{context}'")
    if len(texts) < 2 or not all(text.strip() for text in texts):
        raise NoRow("has fewer than two choices, or an empty one")
    cell = _label(layout, values)
    gold = None if is_missing(cell) else _number_of_choice(cell, texts, layout.counted_from)
    return ChoiceRow(id=name, context=as_text(values[context]), choices=texts, gold=gold)


def _number_of_choice(cell: Any, choices: tuple[str, ...], counted_from: int) -> int:
    """Which choice a label means: its number, its letter, or its text."""
    text = as_text(cell).strip()
    number = as_number(cell)
    if text in choices:
        return choices.index(text)
    if len(text) == 1 and text.upper() in "ABCDEFGHIJ"[: len(choices)]:
        return ord(text.upper()) - ord("A")
    if number is None or not number.is_integer() or not 0 <= number - counted_from < len(choices):
        raise NoRow(f"has the label {_short(cell)}, which is none of its {len(choices)} choices")
    return int(number) - counted_from


BUILDERS: Mapping[Shape, Callable[[Layout, Mapping[str, Any], str], Row]] = {
    "classification": _classification,
    "regression": _regression,
    "multi-label": _multi_label,
    "tagging": _tagging,
    "span": _span,
    "choice": _choice,
}


def _texts(layout: Layout, values: Mapping[str, Any]) -> tuple[str, str | None]:
    """One text or two. Raises NoRow for one that is missing."""
    for name in layout.text:
        if is_missing(values.get(name)):
            raise NoRow(f"has no text in the column '{name}'")
    texts = [as_text(values[name]) for name in layout.text]
    return texts[0], texts[1] if len(texts) > 1 else None


def _label(layout: Layout, values: Mapping[str, Any]) -> Any:
    return values.get(layout.label[0]) if layout.label else None


def _short(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) < 40 else text[:37] + "..."
