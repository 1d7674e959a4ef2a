"""`run.learning_curves`: the score over the size of the data, as a table."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from finetune.analysis import data_sizes
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord

if TYPE_CHECKING:
    import pandas as pd


class LearningCurve(data_sizes.SizeCurve):
    """The runs of one setting with several sizes of the data, as `run.learning_curves` has them.

    Example: `run.learning_curves[0].answer`

    Attributes:
        sizes: For each size its `share` of the training rows, `rows`, `records` and `verdict`, the smallest first.
        answer: Whether more labels would help, in a sentence.
    """

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each size: `score` is the mean over `runs`, with its 95 % interval, NaN for a single run."""
        import pandas as pd

        names = ["share", "rows", "score", "low", "high", "baseline", "runs"]
        rows = [
            (one.share, one.rows, found.score, *(found.interval or (None, None)), one.baseline, len(one.records))
            for one in self.sizes
            for found in [one.verdict]
        ]
        return pd.DataFrame(rows, columns=names)

    def __repr__(self) -> str:
        return f"<LearningCurve of {self.score}: {self.answer}>"


def curves_of_runs(records: Sequence[RunRecord], folders: Sequence[RunFolder]) -> list[LearningCurve]:
    """The curves of these runs, whose folders are in their order."""
    found = data_sizes.learning_curves(records, dict(zip((one.id for one in records), folders, strict=True)))
    return [LearningCurve(**{field.name: getattr(one, field.name) for field in fields(one)}) for one in found]
