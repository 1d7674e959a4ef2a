"""Character spans in the cells of a column: what tools call their parts, and which characters they mean.

A span that states its own text is compared with its place, which is put right where the offsets count other units.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from finetune.data.values import as_list, as_text, is_missing, parsed_literal


class SpanNames(NamedTuple):
    """What a tool calls the start, end and label of a span, and the text that it has there."""

    tool: str
    start: str
    end: str
    label: str
    text: str = "text"


# The only place with these names. A start and its end are of one row, a label or a text may have that of any row, and
# the first of several is taken.
SPAN_NAMES = (
    SpanNames("Prodigy, UBIAI, spaCy's to_json", "start", "end", "label"),
    SpanNames("doccano", "start_offset", "end_offset", "label"),
    SpanNames("doccano before 1.5", "startOffset", "endOffset", "label"),
    SpanNames("Label Studio", "start", "end", "labels"),
    SpanNames("UIMA, INCEpTION, GATE", "begin", "end", "type", "coveredText"),
    SpanNames("Rasa", "start", "end", "entity", "value"),
    SpanNames("Presidio", "start_position", "end_position", "entity_type", "entity_value"),
    SpanNames("LightTag", "start", "end", "tag", "value"),
    SpanNames("SemEval's opinions", "from", "to", "category", "target"),
    SpanNames("a task of ours", "start", "end", "class", "word"),
    SpanNames("transformers", "start", "end", "entity_group", "word"),
    SpanNames("BRAT as JSON", "start", "end", "name", "mention"),
    SpanNames("SemEval's aspect terms", "from", "to", "polarity", "term"),
    SpanNames("Snips", "start", "end", "slot"),
    SpanNames("spaCy's attributes", "start_char", "end_char", "label_"),
    SpanNames("Amazon Comprehend", "BeginOffset", "EndOffset", "Type", "Text"),
)
PLACES = tuple(dict.fromkeys((names.start, names.end) for names in SPAN_NAMES))
LABELS = tuple(dict.fromkeys(names.label for names in SPAN_NAMES))
TEXTS = tuple(dict.fromkeys(names.text for names in SPAN_NAMES))
MAY_DIFFER = ("value", "word", "target")  # texts that a tool may have normalised: compared only where they occur
LISTS = ("0", "1", "2")  # for lists in place of objects
OTHER_LISTS = {("0", "1", "3"): "2", ("1", "2", "0"): ""}  # (start, end, label) of further lists, and the span's text
OFFSET = re.compile(r"start|begin|end|stop|offset|length|left|right|pos|idx|index|^(from|to|b|e|s)$", re.IGNORECASE)
NEARLY_ALL = 0.95  # share of the cells, and of their items, that must be spans
UNITS: dict[str, Callable[[str], int]] = {  # how far a character moves an offset, where others count
    "UTF-16 units": lambda char: 1 + (char > "\uffff"),
    "bytes": lambda char: len(char.encode("utf-8", "replace")),
    "characters without carriage returns": lambda char: char != "\r",
    "characters with two for a line break": lambda char: 1 + (char == "\n"),
}

FIRST_UNITS = ("UTF-16 units", "bytes")  # that are told from characters by where words begin
OUTSIDE = "outside the text, empty or without a label: left out"
ELSEWHERE = "whose own text is not in the row's text: left out"
CLIPPED = "that end past the text: clipped"
MOVED = "whose own text is not at their offsets: moved to the nearest place with it"
INCLUSIVE = "with ends that are their last character: read so"
TRIMMED = "with outer blanks: trimmed"
Span = tuple[int, int, str]


def span_form(cells: Sequence[Any]) -> tuple[str, str, str] | None:
    """Detects the keys of start, end and label that most spans in a column have (numbers for lists).

    None for a column of other things: where more than a few cells, or their items, cannot be read as spans.
    """
    filled = [cell for cell in cells if not is_missing(cell)]
    lists = [items for cell in filled if (items := items_in(cell)) is not None]
    items = [item for inner in lists for item in inner]
    counts = Counter(form for item in items for form in _forms(item))
    if not counts or len(lists) < NEARLY_ALL * len(filled):
        return None
    most = [form for form, count in counts.items() if count == max(counts.values())]
    lists_first = [form for form in most if form[0].isdecimal()] or most[:1]
    form = min(lists_first, key=lambda form: _like_texts([item for item in items if form in _forms(item)], form))
    read = sum(_own_form(item, form) is not None for item in items)
    return form if read >= NEARLY_ALL * len(items) else None


def _like_texts(items: Sequence[Any], form: Sequence[str]) -> tuple[int, int]:
    """How much the labels of spans in lists are like their texts: how many are as long, and how many there are."""
    spans = [(start, end, "".join(labels)) for start, end, labels in (_parts(item, form) for item in items)]
    return sum(abs(end - start - len(label)) <= 1 for start, end, label in spans), len({label for *_, label in spans})


def unknown_names(cells: Sequence[Any]) -> tuple[str, ...]:
    """The names of two numbers that seem to be the offsets of spans, where no row of the table has them."""
    items = [item for cell in cells for item in items_in(cell) or () if isinstance(item, dict)]
    pairs = Counter(
        tuple(name for name, value in item.items() if is_place(value) and OFFSET.search(name)) for item in items
    )
    names, count = pairs.most_common(1)[0] if pairs else ((), 0)
    known = any(any(_forms(item)) for item in items)
    return names if len(names) == 2 and count >= NEARLY_ALL * len(items) and not known else ()


def items_in(cell: Any) -> list[Any] | None:
    """The items of a list of spans; a span without a list around it is one item. None for any other cell."""
    if isinstance(cell, str) and cell.lstrip().startswith("{"):
        cell = parsed_literal(cell)
    items = cell if isinstance(cell, dict) else as_list(cell)
    if any(_forms(items)):
        return [items]
    return items if isinstance(items, list) else None


def _forms(item: Any) -> Iterator[tuple[str, str, str]]:
    """The forms in which an item can be read."""
    if isinstance(item, dict):
        for start, end in PLACES:
            if is_place(item.get(start)) and is_place(item.get(end)):
                yield from ((start, end, name) for name in LABELS if name in item)
    elif isinstance(item, list | tuple):
        for form in (LISTS, *OTHER_LISTS):
            first, after, name = (item[int(place)] if len(item) > int(place) else None for place in form)
            if is_place(first) and is_place(after) and isinstance(name, str) and name:
                yield form


def _own_form(item: Any, form: Sequence[str]) -> tuple[str, ...] | None:
    """The form in which an item of a column is a span: the column's, or another one; None where it is not a span.

    An item with the column's start and end but without its label has none: another field of it is not its label.
    """
    forms = list(_forms(item))
    if tuple(form) in forms:
        return tuple(form)
    return forms[0] if forms and all(other[:2] != tuple(form[:2]) for other in forms) else None


def is_place(value: Any) -> bool:
    """Whether a value can be a character offset."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def span_labels(cell: Any, form: Sequence[str]) -> list[str]:
    """The labels of the spans in a cell."""
    return [label for item in items_in(cell) or () for label in _parts(item, form)[2]]


def _parts(item: Any, form: Sequence[str]) -> tuple[int, int, list[str]]:
    """(start, end, labels) of an item; a start of -1 where it is not a span."""
    own = _own_form(item, form)
    if own is None:
        return -1, -1, []
    start, end, label = (item[int(key) if key.isdecimal() else key] for key in own)
    labels = [as_text(one) for one in (label if isinstance(label, list) else [label]) if isinstance(one, str | int)]
    return start, end, list(filter(None, labels))


def _stated(item: Any, form: Sequence[str], text: str) -> str:
    """The text that a span has by its own words; empty where it has none."""
    if not isinstance(item, dict):
        place = OTHER_LISTS.get((form[0], form[1], form[2]), "")
        return str(item[int(place)]).strip() if place and isinstance(item, list | tuple) else ""
    names = (name for name in TEXTS if name != form[2] and isinstance(item.get(name), str))
    texts = ((name, item[name].strip()) for name in names)
    return next((own for name, own in texts if name not in MAY_DIFFER or own in text), "")


def read_spans(cell: Any, form: Sequence[str], text: str) -> tuple[list[Span], Counter[str]]:
    """The spans in a cell as (first character, character after the last, label) in their order, and what was changed.

    A span with several labels is several. Where spans state texts that are not at their offsets, those of the whole
    cell are read in the unit that fits the most of them; what then fits no place is moved, or left out.
    """
    changes, spans = Counter[str](), list[Span]()
    items = items_in(cell) or ()
    parts, stated = [_parts(item, form) for item in items], [_stated(item, form, text) for item in items]
    places, how = _in_unit([(start, end) for start, end, _ in parts], stated, text)
    changes[how] += len(places) * bool(how)
    for (start, end), (_, _, labels), own in zip(places, parts, stated, strict=True):
        if own and start >= 0 and not _is_at(own, text, start, end):
            at = [match for match in range(len(text)) if text.startswith(own, match)] if own in text else []
            changes[MOVED if at else ELSEWHERE] += 1
            if not at:
                continue
            start = min(at, key=lambda place: abs(place - start))
            end = start + len(own)
        if len(text) < end < 2 * len(text) - start:  # most of it is within the text
            changes[CLIPPED] += 1
            end = len(text)
        part = text[start:end] if 0 <= start < end <= len(text) else ""
        if not part.strip() or not labels:
            changes[OUTSIDE] += 1
            continue
        trimmed = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
        changes[TRIMMED] += trimmed != (start, end)
        spans += [(*trimmed, label) for label in labels]
    return spans, +changes


def _is_at(own: str, text: str, start: int, end: int) -> bool:
    return own.split() == text[start:end].split() or own.casefold().split() == text[start:end].casefold().split()


def _in_unit(places: Sequence[tuple[int, int]], stated: Sequence[str], text: str) -> tuple[list[tuple[int, int]], str]:
    """The places as characters, and in words how they were counted; unchanged where no other unit fits more texts."""
    if not any(stated):
        return _at_words(places, text)
    if all(_is_at(own, text, *place) for place, own in zip(places, stated, strict=True) if own):
        return list(places), ""
    ways = {"": list(places), INCLUSIVE: [(start, end + 1) for start, end in places]}
    ways |= {_read_so(unit): _converted(places, unit, text) for unit in UNITS}
    fits = {
        how: sum(bool(own) and _is_at(own, text, *place) for place, own in zip(converted, stated, strict=True))
        for how, converted in ways.items()
    }
    how = max(fits, key=lambda how: fits[how])
    return ways[how], how


def _read_so(unit: str) -> str:
    return f"with offsets in {unit}: read so"


def _converted(places: Sequence[tuple[int, int]], unit: str, text: str) -> list[tuple[int, int]]:
    """Places that count other units as characters."""
    offsets = [*accumulate(map(UNITS[unit], text), initial=0)]
    return [
        (bisect_right(offsets, start) - 1, bisect_left(offsets, end)) if start >= 0 else (start, end)
        for start, end in places
    ]


def _at_words(places: Sequence[tuple[int, int]], text: str) -> tuple[list[tuple[int, int]], str]:
    """The places of spans that state no text: in another unit where all of them begin words in that one alone."""

    def begin_words(those: Sequence[tuple[int, int]]) -> bool:
        return all(
            0 <= start < end <= len(text) and text[start].isalnum() and not (start and text[start - 1].isalnum())
            for start, end in those
        )

    if places and not text.isascii() and not begin_words(places):
        for unit in FIRST_UNITS:
            if begin_words(converted := _converted(places, unit, text)):
                return converted, _read_so(unit)
    return list(places), ""


def in_form(spans: Sequence[Span], form: Sequence[str], text: str, key: str = "text") -> list[Any]:
    """Spans in the notation of the training file, where their own text has this key."""
    if form[0].isdecimal():
        own = OTHER_LISTS.get((form[0], form[1], form[2]), "")
        lists = ({form[0]: a, form[1]: b, form[2]: kind, own: text[a:b]} for a, b, kind in spans)
        return [[cells[place] for place in sorted(filter(None, cells))] for cells in lists]
    start, end, label = form
    return [{start: a, end: b, key: text[a:b], label: [kind] if label == "labels" else kind} for a, b, kind in spans]


def text_key(texts: Sequence[Any], cells: Sequence[Any], form: Sequence[str]) -> str:
    """The key under which most spans have their own text: `term` of an aspect term; `text` where none has it."""
    keys = Counter[str]()
    for text, cell in zip(texts, cells, strict=True):
        for item in (items_in(cell) or ()) if isinstance(text, str) else ():
            start, end, _ = _parts(item, form)
            fields = item.items() if isinstance(item, dict) and start >= 0 else ()
            keys.update(name for name, value in fields if name not in form and value == text[start:end])
    return keys.most_common(1)[0][0] if keys else "text"
