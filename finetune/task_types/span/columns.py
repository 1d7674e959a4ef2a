"""Questions about contexts: user data of the type `span`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.issues import Finding
from finetune.data.messages import shown
from finetune.data.table import cell_at
from finetune.data.values import as_text, is_missing
from finetune.metrics.squad import score_v1, score_v2
from finetune.task_types.columns import Layout
from finetune.task_types.findings import SplitRows
from finetune.task_types.marked_text import TextMark
from finetune.task_types.own_type import TEXT_CHARS_SHOWN, Evidence, OwnType, with_chosen
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions
from finetune.task_types.row_issues import MISSING_TEXT, NoRow
from finetune.task_types.span import findings
from finetune.task_types.span.cells import answers_of, is_answered, located, start_column
from finetune.task_types.span.guess import question_layout
from finetune.task_types.span.questions import SpanRow
from finetune.task_types.span.task import Scored, SpanTask
from finetune.task_types.task import Task

NONE = "no answer"


def _of_squad(line: Line) -> Scored:
    return score_v1 if line.get("no_answer") is None and line.get("answers") else score_v2


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
    issues = findings.ISSUES
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
        return findings.span_findings(rows)

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
        text, given = pairs[0]
        start = context.find(text) if given is None else located(context, text, given)
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
        own = task.scored if isinstance(task, SpanTask) else None
        chances, rows, found = list[dict[str, float]](), list[DecisionRow](), list[tuple[float, float]]()
        for row, line in enumerate(lines):
            by, answers = own or _of_squad(line), line.get("answers") or ()
            exact, overlap = by(answers, line["prediction"])
            if own is None and line.get("row_score") is not None:
                exact, overlap = float(line["right"]), line["row_score"]
            found.append((exact, overlap))
            outcome = "the same text" if exact else "shares words" if overlap else "another text"
            words = ("an answer" if line["gold"] else NONE, outcome if line["prediction"] else NONE)
            rows.append(DecisionRow(row, *words, exact == 1, line.get("score"), line.get("label_probability")))
            best = {one["text"]: one["probability"] for one in reversed(line.get("n_best") or ())}
            right = next((text for text in reversed(best) if by(answers, text)[0] == 1), None)
            chances.append({line["gold"] if text == right else text: chance for text, chance in best.items()})
        scores = np.array(found, float).reshape(-1, 2)
        return Predictions(
            lines=lines, texts=[{name: line[name] for name in ("question", "context")} for line in lines],
            right=scores[:, 0] == 1, score=scores[:, 1], decisions=Decisions.made(rows),
            chances=chances if all(chances) else (), marks=lambda row: list(_marks(lines[row])), closed=False,
            unit="answers", says=lambda _, value: str(value) or NONE,
        )  # fmt: skip
