"""Observed: what a run saw of its rows and of its own predictions, by which a diagnosis tells causes apart."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from finetune.runs.whole_record import LONGEST_LABEL, Whole

MOST_WORDS = 100  # of a command
MOST_COMPARED = 50_000  # training rows, the first, of which texts are compared


def _short(text: str | None) -> str | None:
    return None if text is None else text[:LONGEST_LABEL]


class Observed(BaseModel):
    """`constant` is the one prediction that each row of the first dev split has; None where they differ, or where all
    labels are equal.

    `contradicted` are those of the first training rows whose text another one has with a different label.
    `fitting_length` is the max_length that cuts no more than one in twenty of the training rows, 0 where none was cut,
    and `longest_length` what the encoder has positions for. `typed` are the words behind `finetune run` that give this
    run, empty where a grid gave several, and `data_folder` is the folder that `--data` named for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    constant: Annotated[str | None, AfterValidator(_short)] = None
    contradicted: Whole = 0
    fitting_length: Whole = 0
    longest_length: Whole = 0
    typed: Annotated[list[str], Field(max_length=MOST_WORDS)] = []
    data_folder: str = ""
