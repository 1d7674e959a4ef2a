"""Diagnosis of a run, a pure function of its record: what is certain comes before what may follow from it."""

from finetune.analysis.diagnosis import data_causes, training_causes
from finetune.analysis.diagnosis.cause import Cause, Diagnosis
from finetune.analysis.diagnosis.figures import Figures
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord

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


def diagnosis_of(record: RunRecord, folder: RunFolder | None = None) -> Diagnosis:
    """The causes that the record of a finished run shows; `folder` has the recipe file that a command may name."""
    figures = Figures(record, folder)
    found: dict[str, Cause] = {}
    for look in ORDER:
        if (cause := look(figures)) is not None:
            found.setdefault(cause.name, cause)
    return Diagnosis(causes=tuple(found.values()))
