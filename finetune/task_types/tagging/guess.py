"""Guesses which columns hold words and their tags, or a text and its entities as character spans."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from finetune.data.column_types import DATES, ColumnFacts
from finetune.data.formats.find_words import are_characters
from finetune.data.formats.spans import ELSEWHERE, OUTSIDE, items_in, read_spans, span_form
from finetune.data.formats.tag_forms import TagForm, are_chunks, form_of, plain_form
from finetune.data.messages import so_many
from finetune.data.table import Table
from finetune.data.values import as_list, as_text, is_missing, tags_of
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.column_names import is_about, is_id_name, named, text_tier
from finetune.task_types.columns import Layout
from finetune.task_types.words.columns import ROWS_LOOKED_AT, are_numbers, as_long, items_of, words_for

STEP = 0.9  # share of the rows that have as many tags as words
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
    named_tags = set(named(lists, word_list("tags")))
    words = text[0] if len(text) == 1 else None
    forms = {
        name: form
        for name in lists
        if (form := form_of(_tags(columns[name], names.get(name))))
        and (facts[name].kind == "list" or name in named_tags or _are_tags(columns, facts, name, form))
    }
    if label and label[0] not in forms and (form := plain_tags(columns, facts, label[0], words=words, names=names)):
        forms = {label[0]: form}
    words = words or words_for(columns, facts, [*label, *forms])
    if not forms:
        _require_names(columns, facts, label, file)
    if not forms or words is None:
        return None
    tags = list(label) or [name for name in forms if not are_chunks(_tags(columns[name]))] or list(forms)
    if len(tags) > 1:
        raise Ambiguous(f"{file}: {len(tags)} columns hold tags", [(f"label={n}", _kinds(columns[n])) for n in tags])
    form = forms.get(tags[0], TagForm())
    others = [name for name in columns if name not in (words, *tags) and _may_be_intent(columns[name])]
    more = [
        f"; {name} has one value a sentence ({_kinds(columns[name])}): {_both(name, tags[0])}" for name in others[:1]
    ]
    return Layout(
        shape="tagging",
        text=(words,),
        label=(tags[0],),
        tag_form=form.form,
        outside=form.outside,
        characters=_are_characters(columns[words]),
        reasons={"shape": f"a column of words and one of tags such as {_kinds(columns[tags[0]])}" + "".join(more)},
    )


def one_value(cell: Any) -> Any:
    """The value of all words of a list, as files with one word per line have an intent; else the cell itself."""
    items = set(cell) if isinstance(cell, list) and all(isinstance(item, str) for item in cell) else set()
    return items.pop() if len(items) == 1 else cell


def one_value_each(cells: Sequence[Any]) -> bool:
    """Whether cells are lists of a value for each word, and these are equal in each of them."""
    some = [cell for cell in islice(cells, ROWS_LOOKED_AT) if not is_missing(cell)]
    return any(isinstance(cell, list) and len(cell) > 1 for cell in some) and not any(
        isinstance(one_value(cell), list) for cell in some
    )


def _may_be_intent(cells: Sequence[Any]) -> bool:
    """Whether a column of a file with one word per line has one of a few values for each sentence."""
    some = list(islice(cells, ROWS_LOOKED_AT))
    return one_value_each(some) and 2 <= len(set(map(str, map(one_value, some)))) <= len(some) / 2


def _both(intent: str, tags: str) -> str:
    return f"{shlex.quote(f'label={intent},{tags}')} reads both"


def span_layout(
    columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts], text: Sequence[str], label: Sequence[str]
) -> Layout | None:
    """A layout of texts with character spans; None where no column holds spans that are within a text."""
    for name in label or [name for name in columns if facts[name].kind not in ("empty", "number")]:
        cells = list(islice((cell for cell in columns[name] if not is_missing(cell)), ROWS_LOOKED_AT))
        form = span_form(cells)
        if form is None:
            continue
        texts = text or sorted(
            (other for other in columns if other != name and _may_be_text(facts[other])),
            key=lambda other: (text_tier(other) is None, text_tier(other) or 0, -facts[other].words),
        )
        for other in texts:
            if _within(columns[name], columns[other], form):
                reasons = {"shape": f"{name} holds character spans in {other}"}
                return Layout(shape="tagging", text=(other,), label=(name,), spans=form, reasons=reasons)
    return None


def _may_be_text(fact: ColumnFacts) -> bool:
    """Whether spans may be within a column: short texts that begin with a time are like dates."""
    return fact.kind in ("text", "category") or fact.why == DATES


def plain_tags(
    columns: Mapping[str, Sequence[Any]],
    facts: Mapping[str, ColumnFacts],
    label: str,
    *,
    words: str | None = None,
    names: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> TagForm | None:
    """The form of a column with a tag for each word that marks no entities, such as parts of speech; else None."""
    tags, words = columns[label], words or words_for(columns, facts, [label])
    if words is None or words == label or (are_numbers(tags) and not names.get(label)):
        return None
    lists = facts[label].kind == facts[words].kind == "list"
    return plain_form(_tags(tags, names.get(label))) if _in_step(columns[words], tags, lists=lists) else None


def ask_for_tags(columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts], file: str) -> None:
    """Raises Ambiguous where columns hold tags of words that are none of entities: the fewest different ones first."""
    ranked = sorted(columns, key=lambda name: len(_tags(columns[name])))
    if found := [name for name in ranked[:-1] if plain_tags(columns, facts, name)]:
        raise Ambiguous(
            f"{file}: has words, and no tags of entities",
            [(f"label={name}", f"{len(_tags(columns[name]))} tags: {_kinds(columns[name])}") for name in found],
        )


def require_tags(columns: Mapping[str, Sequence[Any]], table: Table) -> None:
    """Raises UserError for a file with a word a line whose columns hold no tags, or that has no sentence to read."""
    file, faults = table.path, table.faults
    if faults and faults[0].fault and not len(table):
        what = f"none of its {so_many(len(faults), 'sentence')} can be read: {faults[0].fault.what}"
        raise UserError(f"{file}:{faults[0].line}: {what}", "Correct that line, and others like it")
    seen = [f"{name}: {', '.join(list(dict.fromkeys(items_of(cells)))[:5])}" for name, cells in columns.items()]
    raise UserError(
        f"{file}: has one word per line, but no column holds tags ({'; '.join(seen[:6])})",
        "Tags are O, or B-PER, I-PER and the like, or one of a few for each word: add a column of them",
    )


def only_words(facts: Mapping[str, ColumnFacts]) -> bool:
    """Whether a table has only lists, or two columns of texts, apart from ids: none is the label of a text."""
    kinds = [fact.kind for name, fact in facts.items() if not is_about(name) and not is_id_name(name)]
    return {"list"} <= set(kinds) <= {"list", "id", "empty"} or (len(kinds) == 2 and set(kinds) <= {"text", "category"})


def require_fitting(columns: Mapping[str, Sequence[Any]], label: str, file: str) -> None:
    """Raises UserError for a column that the user named and that cannot be tags, with the reason."""
    tags = _tags(columns[label])
    why = "it has no column of words that has as many items in each row"
    if any(name != label and as_long(columns[name], columns[label]) for name in columns):
        why = f"it has {so_many(len(tags), 'different item')} in {so_many(tags.total(), 'word')}"
    raise UserError(
        f"{file}: the column '{label}' cannot be tags: {why}",
        "Tags are one of a few for each word: name their column with label=COLUMN, that of the words with text=COLUMN",
    )


def _require_names(
    columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts], label: Sequence[str], file: str
) -> None:
    """Raises UserError for lists of numbers next to lists of as many words: numeric tags without names."""
    lists = [name for name in columns if facts[name].kind == "list"]
    for name in label or named(lists, word_list("tags")):
        words = [
            other
            for other in named(lists, word_list("words"))
            if other != name and as_long(columns[other], columns[name])
        ]
        if name in lists and words and are_numbers(columns[name]) and not are_numbers(columns[words[0]]):
            raise UserError(
                f"{file}: the column '{name}' holds numeric tags ({', '.join(sorted(_tags(columns[name]))[:6])})",
                "Name them: labels=FILE, with one tag per line, the first for 0 (such as O, B-PER, I-PER)",
            )


def _are_tags(columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts], name: str, form: TagForm) -> bool:
    """Whether a text of any name is B-PER and the like for each word of another text."""
    words = words_for(columns, facts, [name]) if form.form in ("prefix", "suffix", "begun") else None
    return words is not None and _in_step(columns[words], columns[name], lists=False)


def _in_step(words: Sequence[Any], tags: Sequence[Any], *, lists: bool) -> bool:
    """Whether each row has a tag for each word; that says little of texts that all have one word, or two."""
    counts = [
        len(tags_of(tag))
        for word, tag in islice(zip(words, tags, strict=True), ROWS_LOOKED_AT)
        if len(tags_of(word)) == len(tags_of(tag))
    ]
    enough = len(counts) >= STEP * min(ROWS_LOOKED_AT, len(words))
    return enough and (lists or (len(set(counts)) > 2 and sum(counts) > 2 * len(counts)))


def _tags(cells: Sequence[Any], names: Mapping[str, str] | None = None) -> Counter[str]:
    items = items_of(cells)
    return Counter(items if not names else [names.get(item, item) for item in items])


def _kinds(cells: Sequence[Any]) -> str:
    """`B-LOC, I-LOC, O`: the most frequent tags."""
    counts = _tags(cells)
    return ", ".join(sorted((tag for tag, _ in counts.most_common(4)), key=lambda tag: (tag == "O", tag))[:3])


def _are_characters(cells: Sequence[Any]) -> bool:
    """Whether the words are single characters of texts, with blanks among them or in a script without spaces."""
    words = [item for cell in islice(cells, ROWS_LOOKED_AT) for item in as_list(cell) or ()]
    odd = any(not as_text(word).strip() or as_text(word) > "\u1100" for word in words)
    return odd and are_characters([as_text(word) for word in words])


def _within(cells: Sequence[Any], texts: Sequence[Any], form: Sequence[str]) -> bool:
    """Whether nearly all spans are within their texts."""
    outside = total = 0
    for cell, text in islice(zip(cells, texts, strict=True), ROWS_LOOKED_AT):
        if is_missing(text):
            continue
        changes = read_spans(cell, form, as_text(text))[1]
        outside += changes[OUTSIDE] + changes[ELSEWHERE]
        total += len(items_in(cell) or ())
    return total > 0 and outside <= (1 - INSIDE) * total
