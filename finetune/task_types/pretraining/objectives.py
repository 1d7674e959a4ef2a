"""The objectives of pre-training: what an encoder learns to predict. A new one is a row of the table and a head."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

WORDS = "words"  # the name of the labels of words: one id for each position that is read
NEXT = "next"  # the name of the labels of pairs; 0: the second text follows the first; 1: it is of another document


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is predicted, in words; `head.HEADS` has the class that predicts it.

    `masked`: words are masked; else each word is predicted from those before it. `paired`: the encoder also learns
    which text follows another.
    """

    what: str
    masked: bool = True
    paired: bool = False
    version: int = 1  # raised when its features change


OBJECTIVES = {
    "mlm": Objective(what="masked words"),
    "mlm-nsp": Objective(what="also the next sentence", paired=True, version=2),
    "ltr": Objective(what="the next word", masked=False),
}
LISTED = "; ".join(f"{name}: {objective.what}" for name, objective in OBJECTIVES.items())

if TYPE_CHECKING:
    ObjectiveName = str
else:
    ObjectiveName = Literal[tuple(OBJECTIVES)]
