"""Guesses what a table's columns mean, from their names, types and values, and says why."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, Literal, get_args

from finetune.columns import TAG
from finetune.data.kinds import ColumnFacts, as_number, as_text, facts_of, is_missing
from finetune.data.layout import Layout, Shape, answers_of, choice_named, choices_of, found_labels, tags_of
from finetune.data.reading import Table
from finetune.errors import UserError, nearest
from finetune.heads.choice import LETTERS

TEXT_NAMES = (
    *(
        "text",
        "sentence",
        "document",
        "review",
        "content",
        "comment",
        "body",
        "message",
        "tweet",
        "utterance",
        "headline",
    ),
    *("title", "description", "summary", "question", "문장", "내용", "본문", "리뷰", "제목", "질문"),
)
PAIRS = (
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("text", "text_pair"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    *(("query", name) for name in ("document", "passage", "context", "paragraph")),
    *(("question", name) for name in ("passage", "context", "paragraph", "document", "sentence")),
    ("question", "answer"),
    ("title", "body"),
    ("title", "text"),
    ("title", "content"),
    ("제목", "내용"),
    ("제목", "본문"),
    ("문장1", "문장2"),
)
LABEL_NAMES = (
    *("label", "labels", "class", "category", "target", "gold", "gold_label", "sentiment", "topic", "tag", "tags"),
    *("stars", "rating", "score", "similarity", "intent", "emotion", "y", "answer", "output", "is_duplicate"),
    *("레이블", "라벨", "분류", "평점", "감정", "정답"),
)
ID_NAMES = ("id", "idx", "index", "guid", "uid", "uuid", "_id", "row_id", "번호")
WORD_NAMES = ("words", "tokens", "token", "word")
TAG_NAMES = ("tags", "ner_tags", "ner", "labels", "label", "bio")
QUESTION_NAMES, CONTEXT_NAMES = (
    ("question", "query", "질문"),
    ("context", "passage", "paragraph", "document", "본문", "지문"),
)
ANSWER_NAMES = ("answers", "answer", "answer_text", "정답", "답")
CHOICE_NAMES = ("choices", "options", "endings", "candidates", "선택지")
CHOICE_STEM = re.compile(r"(choice|ending|option|answer|alternative|보기|선택지)[ _]?([0-9]|[a-h])", re.IGNORECASE)
SEPARATORS = ("|", ";", ",")
MOST_LOOKED_AT = 5_000  # rows


def guess(table: Table, given: Mapping[str, str]) -> Layout:
    """What the columns mean, as far as `given` (`text`, `label`, `shape`, `id`, `group`) does not say it.

    Raises UserError for a column that the table lacks, and where no text can be found.
    """
    facts = {name: facts_of(name, values) for name, values in table.columns.items()}
    chosen = {
        name: named_columns(given[name], facts, name, table)
        for name in ("text", "label", "id", "group")
        if given.get(name)
    }
    shape = given.get("shape")
    if shape is not None and shape not in get_args(Shape):
        raise UserError(
            f"shape is '{shape}'", f"{nearest(shape, list(get_args(Shape)))}It is one of {', '.join(get_args(Shape))}"
        )
    layout = _special(table, facts, chosen, shape) or _texts(table, facts, chosen, shape)
    free = [name for name in _named(facts, ID_NAMES) if name not in (*layout.text, *layout.label)]
    ids = chosen.get("id") or [name for name in free if facts[name].unique][:1]
    group = chosen.get("group", ())
    reasons = dict(layout.reasons) | {name: "given" for name in chosen if name not in layout.reasons}
    if ids and "id" not in chosen:
        reasons["id"] = "its name"
    layout = replace(layout, id="".join(ids[:1]), group="".join(group[:1]), reasons=reasons)
    if layout.shape == "choice" and layout.label:
        layout = replace(layout, counted_from=_counted_from(layout, table))
        layout = replace(layout, choices_by=_choices_by(layout, table))
    if layout.shape == "span" and layout.label:
        layout = replace(layout, unanswerable=any(_is_empty(cell) for cell in table.columns[layout.label[0]]))
    return replace(layout, labels=found_labels(layout, table.columns))


def named_columns(text: Any, facts: Collection[str], role: str, table: Table) -> list[str]:
    """The columns in `title,body`. Raises UserError with the nearest name for one that is not there."""
    text = unicodedata.normalize("NFC", str(text))
    names = [text] if text in facts else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in facts:
            raise UserError(
                f"{table.path}: has no column '{name}' ({role}={text})",
                f"{nearest(name, list(facts))}Its columns are {', '.join(list(facts)[:20])}",
            )
    return names


def _named(facts: Mapping[str, ColumnFacts], names: Sequence[str]) -> list[str]:
    """Columns with one of these names, in the names' order, whatever their case."""
    lower = {name.lower().replace(" ", "_"): name for name, fact in facts.items() if fact.kind != "empty"}
    return [lower[name] for name in names if name in lower]


def _special(
    table: Table, facts: Mapping[str, ColumnFacts], chosen: Mapping[str, list[str]], shape: str | None
) -> Layout | None:
    """A layout for spans, tags or choices; None where neither the shape nor the columns are theirs."""
    for name, find in (("span", _span), ("tagging", _tagging), ("choice", _choice)):
        if shape not in (None, name) or (shape is None and "text" in chosen and name != "tagging"):
            continue
        found = find(table, facts)
        if found is None and shape == name and "text" not in chosen:
            raise UserError(
                f"{table.path}: the columns of a {name} task cannot be told", f"Name them: text={INPUTS[name]}"
            )
        text = tuple(chosen.get("text") or (found.text if found else ()))
        if shape is None and found is not None and text != found.text:
            continue
        if found is not None or shape == name:
            label = tuple(chosen.get("label") or (found.label if found else ()))
            reasons = {} if shape == name or found is None else dict(found.reasons)
            return Layout(shape=name, text=text, label=label, reasons=reasons)  # type: ignore[arg-type]
    return None


INPUTS = {
    "span": "question,context label=answers",
    "tagging": "words label=tags",
    "choice": "context,choice1,choice2 label=gold",
}


def _span(table: Table, facts: Mapping[str, ColumnFacts]) -> Layout | None:
    question, context = _named(facts, QUESTION_NAMES)[:1], _named(facts, CONTEXT_NAMES)[:1]
    if not question or not context or question == context:
        return None
    answers = [name for name in _named(facts, ANSWER_NAMES) if name not in (*question, *context)]
    if answers and not _in_contexts(table.columns[answers[0]], table.columns[context[0]]):
        return None  # a label of the two texts, such as true or false
    if not answers and _label_columns(facts, (*question, *context))[0]:
        return None
    reasons = {"shape": "columns named question and context"}
    return Layout(shape="span", text=(question[0], context[0]), label=tuple(answers[:1]), reasons=reasons)


def _in_contexts(answers: Sequence[Any], contexts: Sequence[Any]) -> bool:
    """Whether most answers stand in their contexts, of those that are not empty; or all are empty."""
    found = [
        any(text.lower() in as_text(context).lower() for text, _ in pairs)
        for cell, context in islice(zip(answers, contexts, strict=True), MOST_LOOKED_AT)
        if (pairs := answers_of(cell, None))
    ]
    return sum(found) >= 0.5 * len(found)


def _tagging(table: Table, facts: Mapping[str, ColumnFacts]) -> Layout | None:
    words = _named(facts, WORD_NAMES)[:1]
    for name in _named(facts, TAG_NAMES):
        cells = [tags_of(cell) for cell in table.columns[name][:1000] if not is_missing(cell)]
        tags = Counter(tag for cell in cells for tag in cell)
        legal = sum(count for tag, count in tags.items() if TAG.fullmatch(tag))
        if tags and legal >= 0.9 * tags.total() and (words or facts[name].kind == "list") and tags["O"]:
            words = words or _named(facts, TEXT_NAMES)[:1]
            if words:
                why = "a column of words and one of tags such as " + ", ".join(
                    sorted(tags, key=lambda t: (t == "O", t))[:2]
                )
                return Layout(shape="tagging", text=tuple(words), label=(name,), reasons={"shape": why})
    return None


def _choice(_: Table, facts: Mapping[str, ColumnFacts]) -> Layout | None:
    label = [name for name in _named(facts, LABEL_NAMES) if not CHOICE_STEM.fullmatch(name)][:1]
    lists = [name for name in _named(facts, CHOICE_NAMES) if facts[name].kind == "list"][:1]
    stems: dict[str, list[str]] = {}
    for name in facts:
        if (match := CHOICE_STEM.fullmatch(name)) and facts[name].kind in ("text", "category", "number"):
            stems.setdefault(match[1].lower(), []).append(name)
    numbered = next((names for names in stems.values() if len(names) > 1), []) or _lettered(facts)
    choices = lists or numbered
    if not choices:
        return None
    texts = [name for name in facts if name not in (*choices, *label) and facts[name].kind in ("text", "category")]
    context = [*_named({name: facts[name] for name in texts}, ("context", "prompt", "question", *TEXT_NAMES)), *texts][
        :1
    ]
    context = (
        context if context and facts[context[0]].kind == "text" else sorted(texts, key=lambda n: -facts[n].words)[:1]
    )
    if not context:
        return None
    reasons = {"shape": f"the columns {', '.join(choices)}" if numbered else f"a list of choices in {choices[0]}"}
    return Layout(shape="choice", text=(*context, *choices), label=tuple(label), reasons=reasons)


def _lettered(facts: Mapping[str, ColumnFacts]) -> list[str]:
    """The columns A, B, C and so on; of two, which could be a pair of texts, none."""
    by_letter = {name.upper(): name for name, fact in facts.items() if fact.kind in ("text", "category", "number")}
    found = [by_letter[letter] for letter in takewhile(by_letter.__contains__, LETTERS)]
    return found if len(found) > 2 else []


def _is_empty(cell: Any) -> bool:
    """Whether a cell of answers says that there is none; null says nothing at all."""
    null = cell is None or (isinstance(cell, float) and cell != cell)
    return not null and not answers_of(cell, None)


def _counted_from(layout: Layout, table: Table) -> int:
    """1 where no label is 0 and one is as large as the number of choices, else 0."""
    numbers = {as_number(cell) for cell in table.columns[layout.label[0]]} - {None}
    columns = [table.columns[name] for name in layout.text[1:]]
    lists = len(columns) == 1
    most = max((len(cell) for cell in columns[0] if isinstance(cell, list)), default=0) if lists else len(columns)
    return int(0 not in numbers and most in numbers)


def _choices_by(layout: Layout, table: Table) -> Literal["", "text", "letter", "number"]:
    """How the labels name their choices, the same in all rows; open where no way does for nearly all."""
    columns = [table.columns[name] for name in layout.text[1:]]
    counts: Counter[str] = Counter()
    labelled = [(row, cell) for row, cell in enumerate(table.columns[layout.label[0]]) if not is_missing(cell)]
    for row, cell in labelled[:MOST_LOOKED_AT]:
        named = choice_named(cell, choices_of([cells[row] for cells in columns]), counted_from=layout.counted_from)
        counts.update(way for way, place in named.items() if place is not None)
    ways: tuple[Literal["text", "letter", "number"], ...] = ("text", "letter", "number")
    best = max(ways, key=lambda way: counts[way])
    return best if counts[best] > 0.9 * len(labelled[:MOST_LOOKED_AT]) else ""


def _texts(
    table: Table, facts: Mapping[str, ColumnFacts], chosen: Mapping[str, list[str]], shape: str | None
) -> Layout:
    """A layout for one text or a pair, with labels, a number, or several labels."""
    reasons = {name: "given" for name in ("text", "label") if name in chosen}
    text, label = chosen.get("text"), chosen.get("label")
    if label is None:
        label, reasons["label"] = _label_columns(facts, text or [])
    if text is None:
        text, reasons["text"] = _text_columns(facts, label)
    if not text:
        raise UserError(
            f"{table.path}: no column with texts was found",
            f"Name it: text=COLUMN, one of {', '.join(list(facts)[:20])}",
        )
    if len(text) > 2:
        raise UserError(f"{len(text)} text columns were given: {', '.join(text)}", "Give one, or two that make a pair")
    if not label:
        return Layout(shape=shape or "classification", text=tuple(text), reasons=reasons)  # type: ignore[arg-type]
    found, separator, why = _gold_kind(table.columns, facts, label)
    reasons["shape"] = "given" if shape else why
    kind: Any = shape or found
    if kind == "multi-label" and not separator and len(label) == 1 and facts[label[0]].kind != "list":
        separator = _separator(table.columns[label[0]]) or ","
    return Layout(shape=kind, text=tuple(text), label=tuple(label), separator=separator, reasons=reasons)


def _label_columns(facts: Mapping[str, ColumnFacts], taken: Sequence[str]) -> tuple[list[str], str]:
    free = {name: fact for name, fact in facts.items() if name not in taken and not _is_id(fact) and fact.share > 0.5}
    named = [name for name in _named(free, LABEL_NAMES) if free[name].kind != "text" or free[name].words < 4]
    if named:
        return named[:1], "its name"
    binary = [name for name, fact in free.items() if fact.marks]
    if len(binary) > 1:
        return binary, "columns of 0 and 1"
    few = [
        name
        for name, fact in free.items()
        if fact.kind == "category" or (fact.kind == "number" and fact.distinct <= 20)
    ]
    if few:
        return few[-1:], "a column with few values" if len(few) == 1 else "the last column with few values"
    lists = [name for name, fact in free.items() if fact.kind == "list"]
    if lists:
        return lists[-1:], "a column of lists"
    numbers = [name for name, fact in free.items() if fact.kind == "number"]
    return (numbers[-1:], "the last column of numbers") if numbers else ([], "none was found")


def _text_columns(facts: Mapping[str, ColumnFacts], label: Sequence[str]) -> tuple[list[str], str]:
    free = {name: fact for name, fact in facts.items() if name not in label and not _is_id(fact)}
    for pair in PAIRS:
        if len(found := _named(free, pair)) == 2:
            return found, "their names: a pair"
    texts = {
        name: fact for name, fact in free.items() if fact.kind == "text" and (fact.words >= 2 or fact.distinct > 50)
    }
    named = [name for name in _named(texts or free, TEXT_NAMES) if free[name].kind in ("text", "category")]
    if named:
        return named[:1], "its name"
    if len(texts) == 2:
        return list(texts), "the two columns of texts: a pair"
    most = sorted(
        texts or {n: f for n, f in free.items() if f.kind in ("text", "category")}, key=lambda n: -free[n].words
    )
    return most[:1], "the column with the longest texts" if len(most) > 1 else "the only column of texts"


def _is_id(fact: ColumnFacts) -> bool:
    return fact.name.lower() in ID_NAMES and (fact.unique or fact.kind == "number")


def _gold_kind(
    columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts], label: Sequence[str]
) -> tuple[str, str, str]:
    """(shape, separator, reason)."""
    fact = facts[label[0]]
    if len(label) > 1:
        return "multi-label", "", f"{len(label)} label columns"
    if fact.kind == "list":
        return "multi-label", "", "lists of labels"
    if fact.kind == "number" and (not fact.whole or fact.distinct > 20):
        return "regression", "", f"{fact.distinct} different numbers" + ("" if fact.whole else ", some not whole")
    if separator := _separator(columns[label[0]]):
        return "multi-label", separator, f"labels parted by '{separator}'"
    return "classification", "", f"{fact.distinct} different values"


def _separator(cells: Sequence[Any]) -> str:
    """What parts the labels in a cell: its parts come again in other company, so they are fewer than the cells."""
    some = [as_text(cell) for cell in cells[:5000] if not is_missing(cell)]
    for separator in SEPARATORS:
        many = [text for text in some if separator in text]
        if len(many) < 0.05 * len(some) or len(many) < 2:
            continue
        parts = Counter(part.strip() for text in some for part in text.split(separator))
        if len(parts) < len(set(some)) and all(len(part.split()) <= 4 for part in parts) and min(map(len, parts)) > 0:
            return separator
    return ""
