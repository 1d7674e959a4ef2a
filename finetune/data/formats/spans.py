"""Character spans in the cells of a column: what tools call their parts, and which characters they mean.

A span that states its own text is compared with its place.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from finetune.data.values import as_list, as_text, is_missing, parsed_literal

# What tools call the start, end and label of a span, and the text that it has there. The only place with these names.
# A start and its end are of one row, a label or a text may have that of any row, and the first of several is taken.
SPAN_NAMES = (
    ("start", "end", "label", "text"),  # Prodigy, UBIAI, spaCy's to_json
    ("start_offset", "end_offset", "label", "text"),  # doccano
    ("startOffset", "endOffset", "label", "text"),  # doccano before 1.5
    ("start", "end", "labels", "text"),  # Label Studio
    ("begin", "end", "type", "coveredText"),  # UIMA, INCEpTION, GATE
    ("start", "end", "entity", "value"),  # Rasa
    ("start_position", "end_position", "entity_type", "entity_value"),  # Presidio
    ("start", "end", "tag", "value"),  # LightTag
    ("from", "to", "category", "target"),  # SemEval's opinions
    ("start", "end", "class", "word"),  # a task of ours
    ("start", "end", "entity_group", "word"),  # transformers
    ("start", "end", "name", "mention"),  # BRAT as JSON
    ("from", "to", "polarity", "term"),  # SemEval's aspect terms
    ("start", "end", "slot", "text"),  # Snips
    ("start_char", "end_char", "label_", "text"),  # spaCy's attributes
    ("BeginOffset", "EndOffset", "Type", "Text"),  # Amazon Comprehend
)
STARTS, ENDS, LABELS, TEXTS = (tuple(dict.fromkeys(names)) for names in zip(*SPAN_NAMES, strict=True))
PLACES = tuple(dict.fromkeys((start, end) for start, end, *_ in SPAN_NAMES))
MAY_DIFFER = ("value", "word", "target")  # texts that a tool may have normalised: compared only where they occur
LISTS = ("0", "1", "2")  # for lists in place of objects
LIST_TEXTS = {LISTS: "", ("0", "1", "3"): "2", ("1", "2", "0"): ""}  # (start, end, label) of lists: the span's text
OFFSET = re.compile(r"start|begin|end|stop|offset|length|left|right|pos|idx|index|^(from|to|b|e|s)$", re.IGNORECASE)
MOSTLY = 0.5  # share of the labels of lists that look like texts, and of the items in another form
NEARLY_ALL = 0.95  # share of the cells, and of their items, that must be spans
OUTSIDE = "outside the text, empty or without a label: left out"
ELSEWHERE = "whose own text is at no or several other places: left out"
CLIPPED = "that end past the text: clipped"
MOVED = "whose own text is not at their offsets: moved to the only place with it"
TRIMMED = "with outer blanks: trimmed"
Span = tuple[int, int, str]
Place = tuple[int, int]
UNITS = {"UTF-16 units": ("utf-16-le", 2), "bytes": ("utf-8", 1)}  # encoding, and bytes of a unit


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

    def like_texts(form: tuple[str, str, str]) -> tuple[float, int]:
        """The share of a list's labels that are as long as their spans, as texts are, and how many labels there are."""
        spans = [_parts(item, form) for item in items if form in _forms(item)] if form[0].isdecimal() else []
        long = sum(abs(end - start - len("".join(labels))) <= 1 for start, end, labels in spans)
        return long / counts[form], len({*map(str, (labels for *_, labels in spans))})

    # A list of four can be read as one of three, with its text as the label: then rows of three decide nothing.
    most = max(counts.values())
    least = MOSTLY * most if counts[LISTS] == most and like_texts(LISTS)[0] > MOSTLY else most
    form = min((form for form, count in counts.items() if count >= least), key=like_texts)
    return form if sum(_parts(item, form)[0] >= 0 for item in items) >= NEARLY_ALL * len(items) else None


def unknown_names(cells: Sequence[Any]) -> tuple[str, ...]:
    """The names of two numbers that seem to be the offsets of spans, where no row of the table has them."""
    items = [item for cell in cells for item in items_in(cell) or () if isinstance(item, dict)]
    pairs = Counter(tuple(name for name in item if is_place(item[name]) and OFFSET.search(name)) for item in items)
    names, count = pairs.most_common(1)[0] if pairs else ((), 0)
    unread = len(names) == 2 and not any(any(_forms(item)) for item in items)
    return names if unread and count >= NEARLY_ALL * len(items) else ()


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
        for form in LIST_TEXTS:
            first, after, name = (item[int(place)] if len(item) > int(place) else None for place in form)
            if is_place(first) and is_place(after) and isinstance(name, str) and name:
                yield form


def is_place(value: Any) -> bool:
    """Whether a value can be a character offset."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _parts(item: Any, form: Sequence[str]) -> tuple[int, int, list[str]]:
    """(start, end, labels) of an item in the column's form, or another one; a start of -1 where it is not a span.

    An item with the column's start and end but without its label is none: another field of it is not its label, except
    in a list of three, which has no room for a text next to its label.
    """
    forms = list(_forms(item))
    if forms == [LISTS] and len(item) == len(LISTS) and len(item[2]) != item[1] - item[0]:
        form = LISTS
    if tuple(form) in forms:
        forms = [(form[0], form[1], form[2])]
    elif not forms or any(other[:2] == tuple(form[:2]) for other in forms):
        return -1, -1, []
    start, end, label = (item[int(key) if key.isdecimal() else key] for key in forms[0])
    names = [as_text(name) for name in (label if isinstance(label, list) else [label]) if isinstance(name, str | int)]
    return start, end, list(filter(None, names))


def _stated(item: Any, form: Sequence[str], text: str) -> str:
    """The text that a span has by its own words; empty where it has none."""
    if isinstance(item, dict):
        texts = ((name, item[name].strip()) for name in TEXTS if name != form[2] and isinstance(item.get(name), str))
        return next((stated for name, stated in texts if name not in MAY_DIFFER or stated in text), "")
    place = LIST_TEXTS.get((form[0], form[1], form[2]), "")
    return str(item[int(place)]).strip() if place and isinstance(item, list | tuple) and len(item) > len(LISTS) else ""


def read_spans(cell: Any, form: Sequence[str], text: str) -> tuple[list[Span], Counter[str]]:
    """The spans in a cell as (first character, character after the last, label) in their order, and what was changed.

    A span with several labels is several. One that states a text which is not at its offsets is moved to the only place
    of that text; with several or none it is left out.
    """
    changes, spans = Counter[str](), list[Span]()
    items = items_in(cell) or ()
    parts = [_parts(item, form) for item in items]
    places, how = _in_characters([(start, end) for start, end, _ in parts], text)
    changes[how] += len(places) * bool(how)
    for item, (start, end), (_, _, labels) in zip(items, places, parts, strict=True):
        stated = _stated(item, form, text)
        if stated and start >= 0 and not _is_at(stated, text, start, end):
            unique = text.startswith(stated, start) or text.count(stated) == 1
            changes[MOVED if unique else ELSEWHERE] += 1
            if not unique:
                continue
            start = start if text.startswith(stated, start) else text.index(stated)
            end = start + len(stated)
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


def _in_characters(places: Sequence[Place], text: str) -> tuple[Sequence[Place], str]:
    """The places in characters, and what they counted: another unit where all begin words in that one alone."""
    if text.isascii() or _begin_words(places, text):
        return places, ""
    for unit, (encoding, width) in UNITS.items():
        data = text.encode(encoding, "surrogatepass")
        if any(width * end > len(data) for _, end in places):
            continue
        starts, ends = (
            [len(data[: width * max(0, offset)].decode(encoding, "ignore")) for offset in offsets]
            for offsets in zip(*places, strict=True)
        )
        if _begin_words(converted := [*zip(starts, ends, strict=True)], text):
            return converted, f"with offsets in {unit}: read so"
    return places, ""


def _begin_words(places: Sequence[Place], text: str) -> bool:
    return all(
        0 <= start < end <= len(text) and text[start].isalnum() and not text[max(0, start - 1) : start].isalnum()
        for start, end in places
    )


def _is_at(stated: str, text: str, start: int, end: int) -> bool:
    return stated.casefold().split() == text[start:end].casefold().split()


def in_form(spans: Sequence[Span], form: Sequence[str], text: str, key: str = "text") -> list[Any]:
    """Spans in the notation of the training file, where their own text has this key."""
    start, end, label = form
    if start.isdecimal():
        key = LIST_TEXTS.get((start, end, label), "")
        lists = ({start: a, end: b, label: kind, key: text[a:b]} for a, b, kind in spans)
        return [[cells[place] for place in sorted(filter(None, cells))] for cells in lists]
    return [{start: a, end: b, "text": text[a:b], label: [kind] if label == "labels" else kind} for a, b, kind in spans]
