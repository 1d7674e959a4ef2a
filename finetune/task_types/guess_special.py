"""Which columns are a question with its context, or a choice among several texts."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Literal

from finetune.data.column_types import ColumnFacts
from finetune.data.values import as_list, as_number, as_text, is_missing
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.choice.task import LETTERS
from finetune.task_types.column_names import STRONG_TEXTS, is_about, is_id_name, label_tier, named, words_of
from finetune.task_types.columns import Layout, answers_of, choice_named, choices_of

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
WHOLE = ("startphrase", "ctx", "prompt", "premise", "sent1")  # of which one is all that the choices continue
PASSAGES = ("context", "article", "passage", "paragraph", "story", "document", "지문", "본문")
ASKED = ("question", "query", "question.stem", "stem", "goal", "질문")
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


def choice_task(facts: Mapping[str, ColumnFacts], *, file: str) -> Layout | None:
    """A context and its choices, from a list or from numbered columns, with the label by a name that says so.

    Raises Ambiguous where several texts could be the context.
    """
    ranked = sorted(facts, key=lambda name: (label_tier(name) is None, label_tier(name) or 0))
    label = [name for name in ranked if label_tier(name) is not None and not STEM.fullmatch(name)]
    label = [name for name in label if facts[name].kind in ("category", "number", "text", "id")][:1]
    choices = _choice_columns(facts)
    if not choices:
        return None
    contexts = _contexts(facts, (*choices, *label), file=file, choices=choices)
    if not contexts:
        return None
    single = facts[choices[0]].kind == "list"
    reasons = {"shape": f"a list of choices in {choices[0]}" if single else f"the columns {', '.join(choices)}"}
    text = (*contexts, *choices)
    return Layout(shape="choice", text=text, contexts=len(contexts), label=tuple(label), reasons=reasons)


def contexts_in(text: Sequence[str], facts: Mapping[str, ColumnFacts]) -> int:
    """How many of the columns that a user names are the context: all before a list, or before choices of one stem."""
    if facts[text[-1]].kind == "list":
        return max(1, len(text) - 1)
    stem = _stem(text[-1])
    return next((i for i, name in enumerate(text) if i and stem and _stem(name) == stem), 1)


def require_no_choices(facts: Mapping[str, ColumnFacts], label: Sequence[str], text: Sequence[str], file: str) -> None:
    """Raises Ambiguous where columns look like choices, and what was found reads some of them as a text or none."""
    groups: dict[str, list[str]] = {}
    for name, fact in facts.items():
        if name not in label and fact.kind in ("text", "category", "id") and (stem := _stem(name)):
            groups.setdefault(stem, []).append(name)
    for group in groups.values():
        others = [n for n in facts if n not in (*group, *label) and facts[n].kind == "text" and facts[n].words >= 3]
        if len(group) > 2 or (len(group) == 2 and set(group) == set(text) and others and _are_places(facts, label)):
            wanted = ",".join([*others[:1], *group])
            choices = [
                (f"shape=choice text={wanted}", "a choice among texts"),
                ("shape=classification", "of one text"),
            ]
            raise Ambiguous(f"{file}: the columns {', '.join(group)} look like choices of one question", choices)
    letters = [fact for name in label if (fact := facts[name]).kind == "category" and 2 < fact.distinct <= 6]
    many = [name for name, fact in facts.items() if name not in label and fact.kind in ("text", "category", "id")]
    if letters and letters[0].letters and len(many) > letters[0].distinct:
        wanted = ",".join(many)
        raise Ambiguous(
            f"{file}: the label is a letter, and {len(many)} columns hold texts, which look like choices",
            [
                (f"shape=choice text={wanted}", "a question and its choices"),
                ("shape=classification", "of one text"),
            ],
        )


def _are_places(facts: Mapping[str, ColumnFacts], label: Sequence[str]) -> bool:
    """Whether a label counts two choices: 0 and 1, or 1 and 2."""
    return len(label) == 1 and facts[label[0]].kind == "number" and facts[label[0]].distinct == 2


def _stem(name: str) -> str:
    """A name without the number or letter at its end: `sol` of sol1, `op` of opa; nothing without either."""
    if re.fullmatch(r"column \d+", name):
        return ""  # of a file without a header
    match = re.fullmatch(r"(.*?[^\d_ .-])[_ .-]?(\d)|(.{2,}?)[_ .-]([a-eA-E])|(op)([a-e])", name)
    return next((part for part in (match[1], match[3], match[5]) if part), "").lower() if match else ""


def _choice_columns(facts: Mapping[str, ColumnFacts]) -> list[str]:
    """A list of choices, or columns named choice1, ending0, option_a, or A, B and C."""
    lists = [name for name in facts if facts[name].kind == "list" and set(words_of(name)) & set(CHOICES)]
    lists.sort(key=lambda name: (words_of(name)[-1] in ("label", "labels", "id", "key"), name.count(".")))
    if lists:
        return lists[:1]
    stems: dict[str, list[str]] = {}
    for name in facts:
        if (match := STEM.fullmatch(name)) and facts[name].kind in ("text", "category", "number", "id"):
            stems.setdefault(match[1].lower(), []).append(name)
    return next((names for names in stems.values() if len(names) > 1), []) or _lettered(facts)


def _contexts(
    facts: Mapping[str, ColumnFacts], taken: Sequence[str], *, file: str, choices: Sequence[str]
) -> tuple[str, ...]:
    """The columns that choices continue or answer: one, or a passage and a question about it."""
    texts = [n for n in facts if n not in taken and facts[n].kind == "text" and not is_about(n) and not is_id_name(n)]
    if whole := named(texts, WHOLE):
        return (whole[0],)
    passage, question = named(texts, PASSAGES)[:1], named(texts, ASKED)[:1]
    if passage and question:
        return (passage[0], question[0])
    if one := passage or question or named(texts, STRONG_TEXTS)[:1]:
        return (one[0],)
    long = [name for name in texts if facts[name].words >= 2] or texts
    if len(long) > 1:
        raise Ambiguous(
            f"{file}: {len(long)} columns could be what the choices continue",
            [(f"text={','.join([name, *choices])}", "with shape=choice") for name in long[:5]],
        )
    rest = [n for n in facts if n not in taken and facts[n].kind in ("text", "category")]
    return tuple(long or sorted(rest, key=lambda name: -facts[name].words)[:1])


def says_no_answer(cell: Any) -> bool:
    """Whether a cell of answers says that there is none; null says nothing at all."""
    null = cell is None or (isinstance(cell, float) and cell != cell)
    return not null and not answers_of(cell, None)


def counted_from(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> int:
    """1 where no label is 0 and one is as large as the number of choices, else 0."""
    numbers = {as_number(cell) for cell in columns[layout.label[0]]} - {None}
    choices = [columns[name] for name in layout.text[layout.contexts :]]
    lists = [found for cell in choices[0] if (found := as_list(cell)) is not None] if len(choices) == 1 else []
    most = max(map(len, lists), default=0) if len(choices) == 1 else len(choices)
    return int(0 not in numbers and most in numbers)


def choices_by(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Literal["", "text", "letter", "number"]:
    """How the labels name their choices, the same in all rows; open where no way does for nearly all."""
    choices = [columns[name] for name in layout.text[layout.contexts :]]
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
