"""Questions about contexts: user data of the type `span`, its answers in cells, and where these are in a context."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.issues import Finding, Issue
from finetune.data.messages import short, shown
from finetune.data.table import cell_at, parsed
from finetune.data.values import as_list, as_number, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.metrics.squad import score_v1, score_v2
from finetune.task_types.column_names import label_tier, named
from finetune.task_types.columns import MISSING_TEXT, Layout, NoRow
from finetune.task_types.findings import MOST_OF_ROWS, ONE_LABEL, SplitRows
from finetune.task_types.marked_text import TextMark
from finetune.task_types.own_type import TEXT_CHARS_SHOWN, Evidence, OwnType, with_chosen
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions
from finetune.task_types.span.questions import SpanRow
from finetune.task_types.span.task import SpanTask
from finetune.task_types.task import Task

NONE = "no answer"


CHARS_OFF = 40  # characters by which an answer_start may be off and still be fixed
ROWS_LOOKED_AT = 5_000
ANSWER_LOST = Issue(
    "answer-lost",
    "warning",
    "answers that are not in their context, or neither where answer_start says nor near it",
    "Correct the answer or answer_start; these questions are not trained on",
    worst="error",
)
ANSWER_MOVED = Issue(
    "answer-moved",
    "note",
    "answers a few characters away from where answer_start says",
    "Correct answer_start; the text that is found nearby is used",
)
ISSUES = (ANSWER_LOST, ANSWER_MOVED)


def _marks(line: Line) -> Iterator[TextMark]:
    """The prediction in the context, and the label where its text is nearest to it."""
    start, end = int(line.get("start") or 0), int(line.get("end") or 0)
    if line["prediction"] and line["context"][start:end] == line["prediction"]:
        yield TextMark("context", start, end, "prediction")
    golds = re.finditer(re.escape(line["gold"]), line["context"]) if line["gold"] else ()
    nearest = min((match.span() for match in golds), key=lambda span: abs(span[0] - start), default=None)
    if nearest is not None:
        yield TextMark("context", nearest[0], nearest[1], "gold")


class Span(OwnType):
    """A question and a context per row, with the answers in the context, perhaps none."""

    name = "span"
    task_class = SpanTask
    issues = ISSUES
    label_is = (str,)
    max_length = 384

    def find(self, evidence: Evidence) -> Layout | None:
        """Columns named like a question and its context; whether questions may have no answer."""
        if evidence.shape is None and "text" in evidence.chosen:
            return None
        layout = with_chosen(self, evidence, question_layout(evidence))
        if layout is None or not layout.label:
            return layout
        cells, columns = evidence.columns[layout.label[0]], evidence.columns
        flags = columns.get("is_impossible", [None] * len(cells))
        rows = ((cell, {"is_impossible": flag}) for cell, flag in zip(cells, flags, strict=True))
        unanswerable = any(is_answered(row, cell) and not answers_of(cell, None) for cell, row in rows)
        return replace(layout, unanswerable=unanswerable)

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        return span_findings(rows)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> SpanRow:
        """The question, its context and the answers. Raises NoRow for a missing text."""
        for column in layout.text:
            if is_missing(cell_at(values, column)):
                raise NoRow(f"has no text in the column '{column}'", MISSING_TEXT)
        if len(layout.text) < 2:
            raise NoRow("needs a question and a context")
        question, context = (layout.text_of(values, column) for column in layout.text[:2])
        row = SpanRow(id=name, question=question, context=context, title=as_text(values.get("title")))
        cell = layout.label_in(values)
        if not layout.label or (layout.label[0] in values and not is_answered(values, cell)):
            return row
        pairs = answers_of(cell, values.get(start_column(layout.label[0])))
        if not pairs:
            return replace(row, answers=())
        text, place = pairs[0]
        start = context.find(text) if place is None else located(context, text, place)
        return replace(
            row, answers=tuple(text for text, _ in pairs), start=None if start is None or start < 0 else start
        )

    def label_words(self, row: SpanRow) -> str:
        return "none" if row.answers is None else shown(" | ".join(row.answers) or NONE, TEXT_CHARS_SHOWN)[1:-1]

    def unit(self, row: SpanRow) -> str:
        return same_text(row.context)

    def compared(self, row: SpanRow) -> str:
        return row.context

    def task(self, layout: Layout, *, name: str, read: Any = None) -> SpanTask:
        """The task, scored as SQuAD 2.0 where questions may have no answer, else as SQuAD 1.1."""
        return SpanTask(name=name, read=read, unanswerable=layout.unanswerable)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """One answer a row: right by exact match, its score the overlap with the best of the label's texts, as the task
        has them, by default SQuAD's; the right one of the n-best is under the label's own text.
        """
        scored = task.scored if isinstance(task, SpanTask) else None
        chances, rows, scores_of_rows = list[dict[str, float]](), list[DecisionRow](), list[tuple[float, float]]()
        for row, line in enumerate(lines):
            answers = line.get("answers") or ()
            by = scored or (score_v1 if line.get("no_answer") is None and answers else score_v2)
            exact, overlap = by(answers, line["prediction"])
            if scored is None and line.get("row_score") is not None:
                exact, overlap = float(line["right"]), line["row_score"]
            scores_of_rows.append((exact, overlap))
            outcome = "the same text" if exact else "shares words" if overlap else "another text"
            words = ("an answer" if line["gold"] else NONE, outcome if line["prediction"] else NONE)
            rows.append(DecisionRow(row, *words, exact == 1, line.get("score"), line.get("label_probability")))
            best = {candidate["text"]: candidate["probability"] for candidate in reversed(line.get("n_best") or ())}
            right = next((text for text in reversed(best) if by(answers, text)[0] == 1), None)
            chances.append({line["gold"] if text == right else text: chance for text, chance in best.items()})
        scores = np.array(scores_of_rows, float).reshape(-1, 2)
        return Predictions(
            lines=lines, texts=[{name: line[name] for name in ("question", "context")} for line in lines],
            right=scores[:, 0] == 1, score=scores[:, 1], decisions=Decisions.made(rows),
            chances=chances if all(chances) else (), marks=lambda row: list(_marks(lines[row])), closed=False,
            unit="answers", says=lambda _, value: str(value) or NONE,
        )  # fmt: skip


def answers_of(cell: Any, start: Any) -> list[tuple[str, int | None]]:
    """(text, first character) of each answer, from any known notation of a cell; an object without a `text` as it is.

    A cell is a text, a list, an object of lists or a list of objects, or one of these as JSON, Python or numpy write
    it.
    """
    answers = as_list(cell)
    answers = parsed(cell) if answers is None else answers
    if isinstance(answers, dict) and "text" in answers:
        answers, start = answers["text"], answers.get("answer_start")
    if not isinstance(answers, list):
        answers = [] if is_missing(answers) else [answers]
    pairs = []
    for answer, begin in zip(answers, chain(as_list(start) or [start], repeat(None)), strict=False):
        inner = answer if isinstance(answer, dict) and "text" in answer else {"text": answer, "answer_start": begin}
        place = as_number(inner.get("answer_start"))
        pairs.append((as_text(inner["text"]), None if place is None else int(place)))
    return [(text, place) for text, place in pairs if text.strip()]


def start_column(label: str) -> str:
    """The column of the first characters of answers in another: `answers.answer_start` of `answers.text`."""
    return f"{label.removesuffix('text')}answer_start" if label.endswith(".text") else "answer_start"


def is_answered(values: Mapping[str, Any], cell: Any) -> bool:
    """Whether a record says what the answer is: by its cell, or by `is_impossible`, that there is none."""
    null = cell is None or (isinstance(cell, float) and cell != cell)
    return not null or as_text(values.get("is_impossible")).strip().lower() in ("true", "1")


def located(context: str, text: str, start: int) -> int | None:
    """The character at which the text begins: `start` if it is there; None unless it occurs exactly once nearby."""
    if text and start >= 0 and context.startswith(text, start):
        return start
    begin = max(0, start - CHARS_OFF)
    nearby = context[begin : max(0, start + len(text) + CHARS_OFF)]
    return begin + nearby.index(text) if text and nearby.count(text) == 1 else None


def question_layout(evidence: Evidence) -> Layout | None:
    """The layout of a question about a context, and its answers if there are any.

    Raises UserError for objects that are not read as answers.
    """
    facts = evidence.facts
    filled = [name for name, fact in facts.items() if fact.kind != "empty"]
    question, context = (named(filled, word_list(name))[:1] for name in ("question", "context"))
    if not question or not context:
        return None
    taken = (*question, *context)
    wanted = [name for word in word_list("answer") for name in (word, f"{word}.text")]
    answers = [n for n in named(facts, wanted) if facts[n].kind != "empty" or n in ("answers", "answer")][:1]
    rows = evidence.rows((*answers, *context), ROWS_LOOKED_AT) if answers else []
    inside = [
        any(text.lower() in as_text(passage).lower() for text, _ in pairs)
        for cell, passage in rows
        if (pairs := answers_of(cell, None))
    ]
    if sum(inside) < 0.5 * len(inside):
        cells = evidence.filled(answers[0], ROWS_LOOKED_AT)
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


def span_findings(rows: SplitRows) -> Iterator[Finding]:
    """Answers that are not in their context, or not at answer_start."""
    layout, columns = rows.layout, rows.table.columns
    if not layout.label or len(layout.text) < 2 or layout.label[0] not in columns:
        return
    if rows.trains and any(gold is not None for gold in rows.golds) and not any(rows.golds):
        yield Finding(ONE_LABEL, "no question has an answer", remedy="There is nothing to learn", worst=True)
    cells, contexts = columns[layout.label[0]], columns[layout.text[1]]
    starts = columns.get(start_column(layout.label[0]), [None] * len(cells))
    lost, moved = list[int](), list[int]()
    for row, gold in enumerate(rows.golds):
        if not gold:
            continue
        context, answers = as_text(contexts[row]), answers_of(cells[row], starts[row])
        places = [context.find(text) if start is None else located(context, text, start) for text, start in answers]
        if None in places or -1 in places:
            lost.append(row)
        elif any(start not in (None, place) for (_, start), place in zip(answers, places, strict=True)):
            moved.append(row)
    for issue, indexes in ((ANSWER_LOST, lost), (ANSWER_MOVED, moved)):
        if indexes:
            yield Finding(issue, indexes=indexes, worst=len(indexes) > MOST_OF_ROWS * rows.size)
