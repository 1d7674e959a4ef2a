"""Rows of a split with texts, label and prediction."""

from collections.abc import Sequence

from finetune.analysis.report.blocks import ShownRow, WordWeight
from finetune.analysis.report.text import NAME
from finetune.runs.verdict import baseline_words
from finetune.task_types.marked_text import cut
from finetune.task_types.view import Line, View


def shown_row(
    view: View,
    line: Line,
    *,
    wrong: bool,
    certainty: float,
    suspect: bool = False,
    chance: float | None = None,
    weights: Sequence[WordWeight] = (),
) -> ShownRow:
    """A line of predictions as a ShownRow; `certainty` is its confidence, or for a number its error, and `chance` the
    probability of its label, if that is worth showing.
    """
    facts = []
    if not view.bounded:
        facts.append(f"off by {certainty:.3f}")
    elif 0 < certainty <= 1:
        facts.append(f"confidence {100 * certainty:.1f} %")
    if wrong and view.bounded and (agreeing := view.agreeing(line)):
        facts.append(f"also predicted by {' and '.join(cut(baseline_words(name)) for name in agreeing)}")
    if chance is not None:
        facts.append(f"probability of the label {100 * chance:.1f} %")
    if suspect:
        facts.append("possible label error")
    label, prediction = view.verdict(line)
    return ShownRow(
        id=cut(str(line["id"]), NAME),
        parts=view.parts(line),
        label=cut(label),
        prediction=cut(prediction),
        facts=facts,
        right=not wrong if view.bounded else None,
        weights=weights,
    )
