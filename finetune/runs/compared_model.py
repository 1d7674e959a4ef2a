"""A row of the table in which a student is compared with its teacher: scores, size and speed."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from finetune.metrics.scores import Scores
from finetune.runs.cost import Amount
from finetune.runs.whole_record import Id, Whole, with_nan

TEACHER, STUDENT, PLAIN = "teacher", "student", "student without a teacher"


class ComparedModel(BaseModel):
    """A model, or several as one, on the rows that the run is scored on.

    `megabytes` are those of the weights, and `rows_per_second` those that it answers on the run's device.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    runs: list[Id] = Field(max_length=100)
    scores: Annotated[Scores, BeforeValidator(with_nan)]
    parameters: Whole
    megabytes: Amount
    rows_per_second: Amount
