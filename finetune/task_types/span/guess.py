"""Guesses which columns are a question, its context, and its answers."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from finetune.data.messages import short
from finetune.data.values import as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.column_names import label_tier, named
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import Evidence
from finetune.task_types.span.cells import answers_of

ROWS_LOOKED_AT = 5_000


def question_layout(evidence: Evidence) -> Layout | None:
    """The layout of a question about a context, and its answers if there are any.

    Raises UserError for objects that are not read as answers.
    """
    columns, facts = evidence.columns, evidence.facts
    filled = [name for name, fact in facts.items() if fact.kind != "empty"]
    question, context = (named(filled, word_list(name))[:1] for name in ("question", "context"))
    if not question or not context or question == context:
        return None
    taken = (*question, *context)
    wanted = [name for word in word_list("answer") for name in (word, f"{word}.text")]
    answers = [name for name in named(facts, wanted) if name not in taken]
    answers = [name for name in answers if facts[name].kind != "empty" or name in ("answers", "answer")][:1]
    if answers and not _in_contexts(columns[answers[0]], columns[context[0]]):
        cells = [cell for cell in islice(columns[answers[0]], ROWS_LOOKED_AT) if not is_missing(cell)]
        objects = [cell for cell in cells if as_text(cell).lstrip(" [")[:1] == "{"]
        if objects and len(objects) > len(cells) / 2:
            raise UserError(
                f"{evidence.file}: the column '{answers[0]}' holds {short(objects[0])}, which is not read as answers "
                "in the contexts",
                'Write {"text": ["the answer"], "answer_start": [17]}, or the text of the answer alone',
            )
        return None  # a label of the pair of texts, such as true or false
    if not answers and any(label_tier(name) is not None for name in filled if name not in taken):
        return None
    reasons = {"shape": "columns named question and context"}
    return Layout(shape="span", text=taken, label=tuple(answers), reasons=reasons)


def _in_contexts(answers: Sequence[Any], contexts: Sequence[Any]) -> bool:
    """Whether most non-empty answers are in their contexts, or all are empty."""
    found = [
        any(text.lower() in as_text(context).lower() for text, _ in pairs)
        for cell, context in islice(zip(answers, contexts, strict=True), ROWS_LOOKED_AT)
        if (pairs := answers_of(cell, None))
    ]
    return sum(found) >= 0.5 * len(found)
