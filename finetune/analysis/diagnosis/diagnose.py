"""Diagnosis of a run, a pure function of its record: what is certain comes before what may follow from it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from finetune.analysis.diagnosis import data_causes, training_causes
from finetune.analysis.diagnosis.cause import Cause, Diagnosis
from finetune.analysis.diagnosis.figures import Figures
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord

NUMBER = re.compile(r"\d+")  # of the epoch in a cause, which differs between seeds

# The order decides which cause is the first. Facts of the rows and settings that cannot work come before what is seen
# in the losses: cut or contradicting rows make a model collapse or over-fit, and the reverse is never so.
ORDER = (
    data_causes.other_language,
    data_causes.contradictions,
    training_causes.no_step,
    training_causes.one_class_by_rate,
    data_causes.texts_cut,
    data_causes.few_rows_of_a_class,
    training_causes.loss_never_fell,
    training_causes.under_trained,
    training_causes.one_class,
    training_causes.over_fitted,
    data_causes.small_dev,
)


def diagnosis_of(record: RunRecord, folder: RunFolder | None = None, *, runs: int = 1) -> Diagnosis:
    """The causes that the record of a finished run shows; `folder` has the recipe file that a command may name, and
    `runs` is how many there are that differ in their seeds alone.
    """
    figures = Figures(record, folder, runs)
    found: dict[str, Cause] = {}
    for look in ORDER:
        if (cause := look(figures)) is not None:
            found.setdefault(cause.name, cause)
    return Diagnosis(causes=tuple(found.values()))


def diagnosis_of_seeds(runs: Sequence[tuple[RunRecord, RunFolder | None]]) -> Diagnosis:
    """The first that shows the most frequent cause of runs which differ in their seeds alone, where half of them or
    more have it; the evidence says how many.
    """
    every = len(runs)
    found = [diagnosis_of(record, folder, runs=every) for record, folder in runs]
    kinds = [NUMBER.sub("", one.cause) for one in found]
    counts = Counter(kind for kind in kinds if kind)
    kind, count = counts.most_common(1)[0] if counts else ("", 0)
    if 2 * count < every:
        return Diagnosis()
    first = found[kinds.index(kind)]
    if count == every:
        return first
    of_some = replace(first.causes[0], evidence=f"{count} of {every} runs: {first.causes[0].evidence}")
    return Diagnosis(causes=(of_some, *first.causes[1:]))
