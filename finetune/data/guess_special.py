"""Which columns are a question with its context, or a choice among several texts."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Literal

from finetune.data.column_names import label_tier, named, text_tier, words_of
from finetune.data.kinds import ColumnFacts, as_list, as_number, as_text, is_missing
from finetune.data.layout import Layout, answers_of, choice_named, choices_of
from finetune.heads.choice import LETTERS

QUESTIONS, CONTEXTS = (
    ("question", "query", "질문", "问题", "質問", "вопрос", "frage", "pregunta"),
    (
        "context",
        "passage",
        "paragraph",
        "document",
        "본문",
        "지문",
        "上下文",
        "文脈",
        "контекст",
        "kontext",
        "contexto",
    ),
)
ANSWERS = ("answers", "answer", "answer_text", "정답", "답", "답변", "答案", "ответ", "antwort", "respuesta")
CHOICES = ("choices", "options", "endings", "candidates", "선택지", "보기")
STEM = re.compile(r"(choice|ending|option|answer|alternative|보기|선택지)[ _]?([0-9]|[a-h])", re.IGNORECASE)
LOOKED_AT = 5_000  # rows


def span_task(columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts]) -> Layout | None:
    """A question about a context, and its answers if there are any."""
    filled = [name for name, fact in facts.items() if fact.kind != "empty"]
    question, context = named(filled, QUESTIONS)[:1], named(filled, CONTEXTS)[:1]
    if not question or not context or question == context:
        return None
    answers = [name for name in named(facts, ANSWERS) if name not in (*question, *context)]
    answers = [name for name in answers if facts[name].kind != "empty" or name in ("answers", "answer")]
    if answers and not _in_contexts(columns[answers[0]], columns[context[0]]):
        return None  # a label of the two texts, such as true or false
    if not answers and any(label_tier(name) is not None for name in filled if name not in (*question, *context)):
        return None
    reasons = {"shape": "columns named question and context"}
    return Layout(shape="span", text=(question[0], context[0]), label=tuple(answers[:1]), reasons=reasons)


def choice_task(facts: Mapping[str, ColumnFacts]) -> Layout | None:
    """A context and its choices, from a list or from numbered columns, with the label by a name that says so."""
    ranked = sorted(facts, key=lambda name: (label_tier(name) is None, label_tier(name) or 0))
    label = [name for name in ranked if label_tier(name) is not None and not STEM.fullmatch(name)]
    label = [name for name in label if facts[name].kind in ("category", "number", "text", "id")][:1]
    lists = [name for name in facts if facts[name].kind == "list" and set(words_of(name)) & set(CHOICES)]
    lists = sorted(lists, key=lambda name: (text_tier(name) is None, name.count(".")))[:1]
    stems: dict[str, list[str]] = {}
    for name in facts:
        if (match := STEM.fullmatch(name)) and facts[name].kind in ("text", "category", "number", "id"):
            stems.setdefault(match[1].lower(), []).append(name)
    numbered = next((names for names in stems.values() if len(names) > 1), []) or _lettered(facts)
    choices = lists or numbered
    if not choices:
        return None
    texts = [name for name in facts if name not in (*choices, *label) and facts[name].kind in ("text", "category")]
    known = named([name for name in texts if facts[name].kind == "text"], ("context", "prompt", "question", "sent1"))
    by_name = sorted((n for n in texts if text_tier(n) is not None), key=lambda name: text_tier(name) or 0)
    longest = sorted(texts, key=lambda name: -facts[name].words)
    context = [*known, *(name for name in by_name if facts[name].kind == "text"), *longest][:1]
    if not context:
        return None
    reasons = {"shape": f"the columns {', '.join(choices)}" if numbered else f"a list of choices in {choices[0]}"}
    return Layout(shape="choice", text=(*context, *choices), label=tuple(label), reasons=reasons)


def says_no_answer(cell: Any) -> bool:
    """Whether a cell of answers says that there is none; null says nothing at all."""
    null = cell is None or (isinstance(cell, float) and cell != cell)
    return not null and not answers_of(cell, None)


def counted_from(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> int:
    """1 where no label is 0 and one is as large as the number of choices, else 0."""
    numbers = {as_number(cell) for cell in columns[layout.label[0]]} - {None}
    choices = [columns[name] for name in layout.text[1:]]
    lists = [found for cell in choices[0] if (found := as_list(cell)) is not None] if len(choices) == 1 else []
    most = max(map(len, lists), default=0) if len(choices) == 1 else len(choices)
    return int(0 not in numbers and most in numbers)


def choices_by(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Literal["", "text", "letter", "number"]:
    """How the labels name their choices, the same in all rows; open where no way does for nearly all."""
    choices = [columns[name] for name in layout.text[1:]]
    counts: Counter[str] = Counter()
    labelled = [(row, cell) for row, cell in enumerate(columns[layout.label[0]]) if not is_missing(cell)]
    for row, cell in labelled[:LOOKED_AT]:
        found = choice_named(cell, choices_of([cells[row] for cells in choices]), counted_from=layout.counted_from)
        counts.update(way for way, place in found.items() if place is not None)
    ways: tuple[Literal["text", "letter", "number"], ...] = ("text", "letter", "number")
    best = max(ways, key=lambda way: counts[way])
    return best if counts[best] > 0.9 * len(labelled[:LOOKED_AT]) else ""


def _in_contexts(answers: Sequence[Any], contexts: Sequence[Any]) -> bool:
    """Whether most answers are in their contexts, of those that are not empty; or all are empty."""
    found = [
        any(text.lower() in as_text(context).lower() for text, _ in pairs)
        for cell, context in islice(zip(answers, contexts, strict=True), LOOKED_AT)
        if (pairs := answers_of(cell, None))
    ]
    return sum(found) >= 0.5 * len(found)


def _lettered(facts: Mapping[str, ColumnFacts]) -> list[str]:
    """The columns A, B, C and so on; of two, which could be a pair of texts, none."""
    by_letter = {n.upper(): n for n, fact in facts.items() if fact.kind in ("text", "category", "number", "id")}
    found = [by_letter[letter] for letter in takewhile(by_letter.__contains__, LETTERS)]
    return found if len(found) > 2 else []
