"""Guesses which columns hold words and their tags, or a text and its entities as character spans."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from finetune.data.column_types import ColumnFacts
from finetune.data.formats.find_words import are_characters
from finetune.data.formats.tag_forms import TagForm, are_chunks, form_of
from finetune.data.span_form import items_in, span_form
from finetune.data.values import as_list, as_text, is_missing
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.column_names import named, text_tier
from finetune.task_types.columns import Layout
from finetune.task_types.tagging.char_spans import spans_of
from finetune.task_types.words.columns import LOOKED_AT, WORD_NAMES, are_numbers, as_long, items_of, words_for

TAG_NAMES = ("tags", "ner_tags", "ner", "labels", "label", "bio", "tag", "entities", "ner_tag", "iob", "태그")
INSIDE = 0.95  # share of the spans that are within their text


def tag_layout(
    columns: Mapping[str, Sequence[Any]],
    facts: Mapping[str, ColumnFacts],
    label: Sequence[str],
    *,
    text: Sequence[str],
    names: Mapping[str, Mapping[str, str]],
    file: str,
) -> Layout | None:
    """A layout of words and tags; None where no columns fit. `names` are those of numeric tags, by column.

    Raises Ambiguous where several hold tags, and UserError for numeric tags without names.
    """
    lists = {name: cells for name, cells in columns.items() if facts[name].kind in ("list", "text", "category", "id")}
    named_tags = set(named(lists, TAG_NAMES))
    forms = {
        name: form
        for name in lists
        if (facts[name].kind == "list" or name in named_tags)
        and (form := form_of(_tags(columns[name], names.get(name))))
    }
    words = text[0] if len(text) == 1 else words_for(columns, facts, [*forms, *label])
    if not forms:
        _require_names(columns, facts, label, file)
    if not forms or words is None:
        return None
    tags = list(label) or [name for name in forms if not are_chunks(_tags(columns[name]))] or list(forms)
    if len(tags) > 1:
        raise Ambiguous(f"{file}: {len(tags)} columns hold tags", [(f"label={n}", _kinds(columns[n])) for n in tags])
    form = forms.get(tags[0], TagForm())
    return Layout(
        shape="tagging",
        text=(words,),
        label=(tags[0],),
        tag_form=form.form,
        outside=form.outside,
        characters=_are_characters(columns[words]),
        reasons={"shape": f"a column of words and one of tags such as {_kinds(columns[tags[0]])}"},
    )


def span_layout(
    columns: Mapping[str, Sequence[Any]],
    facts: Mapping[str, ColumnFacts],
    text: Sequence[str],
    label: Sequence[str],
) -> Layout | None:
    """A layout of texts with character spans; None where no column holds spans that are within a text."""
    for name in label or [name for name in columns if facts[name].kind not in ("empty", "number")]:
        cells = list(islice((cell for cell in columns[name] if not is_missing(cell)), LOOKED_AT))
        form = span_form(cells)
        if form is None:
            continue
        texts = text or sorted(
            (other for other in columns if other != name and facts[other].kind in ("text", "category")),
            key=lambda other: (text_tier(other) is None, text_tier(other) or 0, -facts[other].words),
        )
        for other in texts:
            if _within(columns[name], columns[other], form):
                reasons = {"shape": f"{name} holds character spans in {other}"}
                return Layout(shape="tagging", text=(other,), label=(name,), spans=form, reasons=reasons)
    return None


def require_tags(columns: Mapping[str, Sequence[Any]], file: str) -> None:
    """Raises UserError for a file with a word a line whose columns hold no tags of entities."""
    seen = [f"{name}: {', '.join(list(dict.fromkeys(items_of(cells)))[:5])}" for name, cells in columns.items()]
    raise UserError(
        f"{file}: has one word per line, but no column holds entity tags ({'; '.join(seen[:6])})",
        "Tags are O, or B-PER, I-PER and the like: add them, or name their column with label=COLUMN",
    )


def _require_names(
    columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts], label: Sequence[str], file: str
) -> None:
    """Raises UserError for lists of numbers next to lists of as many words: numeric tags without names."""
    lists = [name for name in columns if facts[name].kind == "list"]
    for name in label or named(lists, TAG_NAMES):
        words = [
            other for other in named(lists, WORD_NAMES) if other != name and as_long(columns[other], columns[name])
        ]
        if name in lists and words and are_numbers(columns[name]) and not are_numbers(columns[words[0]]):
            raise UserError(
                f"{file}: the column '{name}' holds numeric tags ({', '.join(sorted(_tags(columns[name]))[:6])})",
                "Name them: labels=FILE, with one tag per line, the first for 0 (such as O, B-PER, I-PER)",
            )


def _tags(cells: Sequence[Any], names: Mapping[str, str] | None = None) -> Counter[str]:
    items = items_of(cells)
    return Counter(items if not names else [names.get(item, item) for item in items])


def _kinds(cells: Sequence[Any]) -> str:
    """`B-LOC, I-LOC, O`: the most frequent tags."""
    counts = _tags(cells)
    return ", ".join(sorted((tag for tag, _ in counts.most_common(4)), key=lambda tag: (tag == "O", tag))[:3])


def _are_characters(cells: Sequence[Any]) -> bool:
    """Whether the words are single characters of texts, with blanks among them or in a script without spaces."""
    words = [item for cell in islice(cells, LOOKED_AT) for item in as_list(cell) or ()]
    odd = any(not as_text(word).strip() or as_text(word) > "\u1100" for word in words)
    return odd and are_characters([as_text(word) for word in words])


def _within(cells: Sequence[Any], texts: Sequence[Any], form: Sequence[str]) -> bool:
    """Whether nearly all spans are within their texts."""
    outside = total = 0
    for cell, text in islice(zip(cells, texts, strict=True), LOOKED_AT):
        if is_missing(text):
            continue
        found = spans_of(cell, form, as_text(text))
        lost = sum(count for why, count in found.changes.items() if why.startswith("outside"))
        outside += lost
        total += len(items_in(cell) or ())
    return total > 0 and outside <= (1 - INSIDE) * total
