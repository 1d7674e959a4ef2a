"""Guesses which columns are a question, its context, and its answers."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from finetune.data.column_types import DIFFERENT_WORDS
from finetune.data.messages import short
from finetune.data.values import as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.column_names import label_tier, named
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import Evidence
from finetune.task_types.span.cells import answers_of

ROWS_LOOKED_AT = 5_000
LEAST_ANSWERS = 7  # different cells of a column with a label's name, from which they may be answers
PARTS, VARIED = 0.9, 0.2  # share of the answers that are in their contexts, and of different ones
SHORTER, ASKING = 2, 3  # times that an answer is shorter than its context; words of a question


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


def require_no_answers(evidence: Evidence) -> None:
    """Raises Ambiguous where a column holds parts of another one's texts and a third one could ask for them.

    A column with a label's name is one, unless the parts are its own and the third one ends with question marks.
    """
    columns, facts = evidence.columns, evidence.facts
    texts = sorted((name for name, fact in facts.items() if fact.kind == "text"), key=lambda name: -facts[name].length)
    if not texts:
        return
    context = texts[0]
    labels = {name for name, fact in facts.items() if label_tier(name) == 0 and fact.kind == "category"}
    parts = [
        name
        for name, fact in facts.items()
        if (fact.kind in ("text", "category") or fact.why == DIFFERENT_WORDS)
        and fact.length * SHORTER < facts[context].length
    ]
    answers = [name for name in parts if _are_parts(columns[name], columns[context], labelled=name in labels)]
    if labels and not labels & {*answers}:
        return
    questions = [name for name in texts[1:] if facts[name].words >= ASKING and name not in answers]
    questions = [name for name in questions if not labels or _are_asked(columns[name])]
    spans = [
        (f"shape=span text={question},{context} label={answer}", "answers in contexts")
        for answer in answers for question in questions
    ]  # fmt: skip
    if spans:
        single = [(f"text={name}", f"{facts[name].words:.0f} words a row") for name in texts]
        what = f"the column '{answers[0]}' holds parts of the texts in '{context}', as answers do"
        raise Ambiguous(f"{evidence.file}: {what}", [*spans, *single])


def _are_asked(cells: Sequence[Any]) -> bool:
    """Whether most texts end with a question mark."""
    texts = [as_text(cell).rstrip() for cell in cells[:ROWS_LOOKED_AT]]
    return sum(text.endswith("?") for text in texts) > len(texts) / 2


def _are_parts(answers: Sequence[Any], contexts: Sequence[Any], *, labelled: bool) -> bool:
    """Whether nearly all are in their contexts, and they are many, or more than labels mostly are."""
    rows = islice(zip(answers, contexts, strict=True), ROWS_LOOKED_AT)
    pairs = [(as_text(answer).strip(), as_text(context)) for answer, context in rows if not is_missing(answer)]
    inside = sum(answer in context for answer, context in pairs)
    least = LEAST_ANSWERS if labelled else VARIED * len(pairs)
    return inside >= PARTS * len(pairs) and len({answer for answer, _ in pairs}) > least
