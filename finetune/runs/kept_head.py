"""What a run kept of the run whose model it trained again, as records keep it."""

from pydantic import BaseModel, ConfigDict

from finetune.runs.margin import Margin
from finetune.runs.whole_record import Id, Whole

OLD_DEV = "old-dev"  # the split that is dev of the run that is trained again; it chooses nothing
OLD_MODEL = "old model"  # among its baselines


class KeptHead(BaseModel):
    """Of `keep_labels`: the labels whose rows of the head came from `run`, those added, and those left out.

    `rehearsed` are the rows of its `of` training rows that were trained on again, `known` the dev rows that were among
    these (None where they could not be read). `margin` is that of `metric` over the old model on OLD_DEV: not a mean
    over classes, in which a single prediction of an added label would count as a whole class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    run: Id
    carried: list[str] = []
    added: list[str] = []
    left_out: list[str] = []
    rehearsed: Whole = 0
    of: Whole | None = None
    known: Whole | None = None
    metric: str = ""
    margin: Margin | None = None
