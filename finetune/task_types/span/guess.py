"""Guesses which columns are a question, its context, and its answers."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from finetune.data.column_types import ColumnFacts
from finetune.data.values import as_text
from finetune.task_types.column_names import label_tier, named
from finetune.task_types.columns import Layout
from finetune.task_types.span.cells import answers_of

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
LOOKED_AT = 5_000  # rows


def span_layout(columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts]) -> Layout | None:
    """The layout of a question about a context, and its answers if there are any."""
    filled = [name for name, fact in facts.items() if fact.kind != "empty"]
    question, context = named(filled, QUESTIONS)[:1], named(filled, CONTEXTS)[:1]
    if not question or not context or question == context:
        return None
    answers = [name for name in named(facts, ANSWERS) if name not in (*question, *context)]
    answers = [name for name in answers if facts[name].kind != "empty" or name in ("answers", "answer")]
    if answers and not _in_contexts(columns[answers[0]], columns[context[0]]):
        return None  # a label of the pair of texts, such as true or false
    if not answers and any(label_tier(name) is not None for name in filled if name not in (*question, *context)):
        return None
    reasons = {"shape": "columns named question and context"}
    return Layout(shape="span", text=(question[0], context[0]), label=tuple(answers[:1]), reasons=reasons)


def says_no_answer(cell: Any) -> bool:
    """Whether a cell of answers says that there is no answer; null means unknown."""
    null = cell is None or (isinstance(cell, float) and cell != cell)
    return not null and not answers_of(cell, None)


def _in_contexts(answers: Sequence[Any], contexts: Sequence[Any]) -> bool:
    """Whether most non-empty answers are in their contexts, or all are empty."""
    found = [
        any(text.lower() in as_text(context).lower() for text, _ in pairs)
        for cell, context in islice(zip(answers, contexts, strict=True), LOOKED_AT)
        if (pairs := answers_of(cell, None))
    ]
    return sum(found) >= 0.5 * len(found)
