"""The objectives of pre-training: what an encoder learns to predict. A new one is a row of the table and a head."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

Pairs = Literal["", "next", "order"]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is predicted, in words, and by which class of `head.py`, which is imported when a model is built.

    `masked`: words are masked; else each word is predicted from those before it. `pairs`: the encoder also learns
    which text follows another (`next`), or which of two is the first (`order`).
    """

    what: str
    head: str
    masked: bool = True
    pairs: Pairs = ""
    version: int = 1  # raised when its features change

    @property
    def paired(self) -> bool:
        """Whether the encoder reads pairs of texts."""
        return bool(self.pairs)


OBJECTIVES = {
    "mlm": Objective(what="masked words", head="WordHead"),
    "mlm-nsp": Objective(what="also the next sentence", head="NextSentenceHead", pairs="next", version=2),
    "mlm-sop": Objective(what="also the order of two texts", head="NextSentenceHead", pairs="order"),
    "ltr": Objective(what="the next word", head="NextWordHead", masked=False),
}
LISTED = "; ".join(f"{name}: {objective.what}" for name, objective in OBJECTIVES.items())
PAIRED = tuple(name for name, objective in OBJECTIVES.items() if objective.paired)

if TYPE_CHECKING:
    ObjectiveName = str
else:
    ObjectiveName = Literal[tuple(OBJECTIVES)]
