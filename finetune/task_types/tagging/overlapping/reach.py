"""Spans that a model cannot predict, with the reason: such spans count as missed in all scores."""

from collections.abc import Sequence

import numpy as np

from finetune.models.feature import Feature
from finetune.task_types.tagging.overlapping.encoding import BEGIN, END, OWNED
from finetune.task_types.tagging.overlapping.row import LabelledSpan
from finetune.task_types.tagging.segments import segmented

INSIDE = "begin or end inside a word or token"
LONGER = "are longer than longest_span"
CUT = "are cut by a window of max_length"


def out_of_reach(span: LabelledSpan, features: Sequence[Feature], text: str, *, longest: int) -> str:
    """Why a span of a text with these features cannot be predicted; empty where it can."""
    start, end, _ = span
    for feature in features:
        begins = np.flatnonzero((feature.note[:, BEGIN] == start) & (feature.note[:, OWNED] == 1))
        if not len(begins):
            continue
        ends = np.flatnonzero(feature.note[:, END] == end)
        if len(ends):
            return "" if ends[0] - begins[0] < longest else LONGER
        if any(end in other.note[:, END] for other in features):
            return LONGER if len(segmented(text[start:end])[0]) > longest else CUT
    return INSIDE
