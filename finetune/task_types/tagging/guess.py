"""Guesses which columns hold words and their tags, or a text and its entities as character spans; words in cells."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from finetune.data.column_types import DATES
from finetune.data.formats.conll import are_characters
from finetune.data.formats.spans import ELSEWHERE, OUTSIDE, items_in, read_spans, span_form
from finetune.data.formats.word_lines import TagForm, are_chunks, form_of, plain_form
from finetune.data.messages import short, so_many
from finetune.data.values import as_list, as_text, is_missing, is_nested, tags_of
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.column_names import is_about, is_id_name, named, text_tier
from finetune.task_types.columns import EMPTY_WORD, MISSING_TEXT, Layout, NoRow
from finetune.task_types.own_type import Evidence

STEP = 0.9  # share of the rows that have as many tags as words
INSIDE = 0.95  # share of the spans that are within their text


ROWS_LOOKED_AT = 1_000


def words_and_tags(evidence: Evidence) -> Layout | None:
    """A layout of texts with character spans, or of words and tags. Raises UserError as `tag_layout` does."""
    return span_layout(evidence) or tag_layout(evidence)


def tag_layout(evidence: Evidence) -> Layout | None:
    """A layout of words and tags; None where no columns fit.

    Raises Ambiguous where several hold tags, and UserError for numeric tags without names.
    """
    columns, facts = evidence.columns, evidence.facts
    label, text = evidence.chosen.get("label", []), evidence.chosen.get("text", [])
    lists = [name for name in columns if facts[name].kind in ("list", "text", "category", "id")]
    tags = named(lists, word_list("tags"))
    words = text[0] if len(text) == 1 else None
    forms: dict[str, TagForm] = {}
    for name in lists:
        form = form_of(_tags(evidence, name))
        typed = form is not None and form.form in ("prefix", "suffix", "begun")
        sure = name in tags or facts[name].kind == "list"
        if form and (sure or (typed and _are_of_words(evidence, words_for(evidence, [name]), name))):
            forms[name] = form
    if label and label[0] not in forms and (form := _plain_tags(evidence, label[0], words)):
        forms = {label[0]: form}
    words = words or words_for(evidence, [*label, *forms])
    if not forms:
        _require_names(evidence)
    if not forms or words is None:
        return None
    tags = list(label) or [name for name in forms if not are_chunks(_tags(evidence, name))] or list(forms)
    if len(tags) > 1:
        raise Ambiguous(
            f"{evidence.file}: {len(tags)} columns hold tags", [(f"label={n}", _kinds(evidence, n)) for n in tags]
        )
    why = f"a column of words and one of tags such as {_kinds(evidence, tags[0])}"
    form = forms.get(tags[0], TagForm())
    return Layout(
        shape="tagging",
        text=(words,),
        label=tuple(tags),
        tag_form=form.form,
        outside=form.outside,
        characters=_are_characters(columns[words]),
        reasons={"shape": why},
    )


def span_layout(evidence: Evidence) -> Layout | None:
    """A layout of texts with character spans; None where no column holds spans that are within a text."""
    columns, facts, chosen = evidence.columns, evidence.facts, evidence.chosen
    texts = [n for n, fact in facts.items() if fact.kind in ("text", "category") or fact.why == DATES]  # with a time
    texts.sort(key=lambda name: (text_tier(name) is None, text_tier(name) or 0, -facts[name].words))
    for name in chosen.get("label") or [name for name in columns if facts[name].kind not in ("empty", "number")]:
        form = span_form(evidence.filled(name, ROWS_LOOKED_AT))
        for text in chosen.get("text") or texts:
            if form and text != name and _within(evidence, name, text, form):
                reasons = {"shape": f"{name} holds character spans in {text}"}
                return Layout(shape="tagging", text=(text,), label=(name,), spans=form, reasons=reasons)
    return None


def _plain_tags(evidence: Evidence, label: str, words: str | None = None) -> TagForm | None:
    """The form of a column with a tag for each word that marks no entities, such as parts of speech; else None."""
    words = words or words_for(evidence, [label])
    if words == label or (are_numbers(evidence.columns[label]) and not evidence.table.names.get(label)):
        return None
    return plain_form(_tags(evidence, label)) if _are_of_words(evidence, words, label) else None


def ask_for_tags(evidence: Evidence) -> None:
    """Raises Ambiguous where columns hold tags of words that are none of entities: the fewest different ones first;
    and UserError for a file with a word a line whose columns hold no tags, or that has no sentence to read.
    """
    table, file = evidence.table, evidence.file
    ranked = sorted(evidence.columns, key=lambda name: len(_tags(evidence, name)))
    if tagged := [name for name in ranked[:-1] if _plain_tags(evidence, name)]:
        raise Ambiguous(
            f"{file}: has words, and no tags of entities",
            [(f"label={n}", f"{len(_tags(evidence, n))} tags: {_kinds(evidence, n)}") for n in tagged],
        )
    if table.form.format.name != "word-lines":
        return
    if table.faults and table.faults[0].fault and not len(table):
        what = f"none of its {so_many(len(table.faults), 'sentence')} can be read: {table.faults[0].fault.what}"
        raise UserError(f"{file}:{table.faults[0].line}: {what}", "Correct that line, and others like it")
    raise UserError(
        f"{file}: has one word per line, but no column holds tags ({', '.join(evidence.columns)})",
        "Tags are O, or B-PER, I-PER and the like, or one of a few for each word: add a column of them",
    )


def only_words(evidence: Evidence) -> bool:
    """Whether a table has only lists, or two columns of texts, apart from ids: none is the label of a text."""
    kinds = [fact.kind for name, fact in evidence.facts.items() if not is_about(name) and not is_id_name(name)]
    return {"list"} <= set(kinds) <= {"list", "id", "empty"} or (len(kinds) == 2 and set(kinds) <= {"text", "category"})


def require_fitting(evidence: Evidence, label: str) -> None:
    """Raises UserError for a column that the user named and that cannot be tags, with the reason."""
    tags = _tags(evidence, label)
    raise UserError(
        f"{evidence.file}: the column '{label}' cannot be tags: it has {so_many(len(tags), 'different item')} in "
        f"{so_many(tags.total(), 'word')}, or no column of words has as many items in each row",
        "Tags are one of a few for each word: name their column with label=COLUMN, that of the words with text=COLUMN",
    )


def _require_names(evidence: Evidence) -> None:
    """Raises UserError for lists of numbers next to lists of as many words: numeric tags without names."""
    columns = evidence.columns
    lists = [name for name in columns if evidence.facts[name].kind == "list"]
    words = [name for name in named(lists, word_list("words")) if not are_numbers(columns[name])]
    for name in evidence.chosen.get("label") or named(lists, word_list("tags")):
        if name in lists and are_numbers(columns[name]) and any(_in_step(evidence, other, name) for other in words):
            tags = ", ".join(sorted(_tags(evidence, name))[:6])
            raise UserError(
                f"{evidence.file}: the column '{name}' holds numeric tags ({tags})",
                "Name them: labels=FILE, with one tag per line, the first for 0 (such as O, B-PER, I-PER)",
            )


def _in_step(evidence: Evidence, words: str, tags: str) -> list[int]:
    """How many words each row has that has as many tags; empty unless nearly all rows have."""
    rows = [[len(tags_of(cell)) for cell in row] for row in evidence.rows((words, tags), ROWS_LOOKED_AT)]
    counts = [words for words, tags in rows if words == tags]
    return counts if len(counts) >= STEP * len(rows) else []


def _are_of_words(evidence: Evidence, words: str | None, tags: str) -> bool:
    """Whether there is a tag for each word; texts in step that all have one word, or two, say little."""
    if words is None or not (counts := _in_step(evidence, words, tags)):
        return False
    lists = all(evidence.facts[name].kind == "list" for name in (words, tags))
    return lists or (len(set(counts)) > 2 and sum(counts) > 2 * len(counts))


def _tags(evidence: Evidence, name: str) -> Counter[str]:
    """How often each tag comes in a column, by the names of numeric ones."""
    names = evidence.table.names.get(name, {})
    return Counter(names.get(item, item) for item in items_of(evidence.columns[name]))


def _kinds(evidence: Evidence, name: str) -> str:
    """`B-LOC, I-LOC, O`: the most frequent tags."""
    frequent = [tag for tag, _ in _tags(evidence, name).most_common(4)]
    return ", ".join(sorted(frequent, key=lambda tag: (tag == "O", tag))[:3])


def _are_characters(cells: Sequence[Any]) -> bool:
    """Whether the words are single characters of texts, with blanks among them or in a script without spaces."""
    words = [as_text(item) for cell in islice(cells, ROWS_LOOKED_AT) for item in as_list(cell) or ()]
    return any(not word.strip() or word > "\u1100" for word in words) and are_characters(words)


def _within(evidence: Evidence, spans: str, text: str, form: Sequence[str]) -> bool:
    """Whether nearly all spans are within their texts."""
    filled = evidence.rows((spans, text), ROWS_LOOKED_AT)
    total = sum(len(items_in(cell) or ()) for cell, _ in filled)
    changes = sum((read_spans(cell, form, as_text(text))[1] for cell, text in filled), Counter[str]())
    return total > 0 and changes[OUTSIDE] + changes[ELSEWHERE] <= (1 - INSIDE) * total


def words_for(evidence: Evidence, taken: Sequence[str]) -> str | None:
    """The column of words: one with as many items a row as `taken[0]`, by its name, or else the most varied."""
    if not taken:
        return None
    columns, facts, tags = evidence.columns, evidence.facts, taken[0]
    free = [name for name in columns if name not in taken and _in_step(evidence, name, tags)]
    if by_name := named(free, word_list("words")):
        return by_name[0]
    kind = "list" if facts[tags].kind == "list" else "text"
    alike = [name for name in free if facts[name].kind == kind and not are_numbers(columns[name])]
    return max(alike, key=lambda name: len({*items_of(columns[name])}), default=None)


def items_of(cells: Sequence[Any]) -> list[str]:
    """What the first lists hold, or texts with spaces between their items."""
    filled = islice((cell for cell in cells if not is_missing(cell)), ROWS_LOOKED_AT)
    return [item for cell in filled for item in tags_of(cell)]


def are_numbers(cells: Sequence[Any]) -> bool:
    """Whether the first lists hold whole numbers alone."""
    return all(item.lstrip("-").isdigit() for item in items_of(cells)[:500])


def words_in(cell: Any, column: str, *, blanks: bool = False) -> list[str]:
    """The words in a cell.

    Raises NoRow where there are none, for objects, and for an empty one unless `blanks` may be words.
    """
    if isinstance(cell, dict) or is_nested(as_list(cell)):
        raise NoRow(f"has {short(cell)} in the column '{column}'; expected words")
    words = tags_of(cell)
    if not any(word.strip() for word in words):
        raise NoRow(f"has no words in the column '{column}'", MISSING_TEXT)
    if not blanks and not all(word.strip() for word in words):
        raise NoRow(f"has an empty word in the column '{column}'", EMPTY_WORD)
    return words
