"""The objectives of pre-training: what an encoder learns to predict. A new one is a row of the table and a head."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

Pairs = Literal["", "next", "order"]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is predicted, in words; `heads` has the class that predicts it.

    `masked`: words are masked; else each word is predicted from those before it. `pairs`: the encoder also learns
    which text follows another (`next`), or which of two is the first (`order`). `spans`: spans are masked, and also
    predicted from the tokens around them. `replaced`: a generator replaces words, and the encoder tells which.
    """

    what: str
    masked: bool = True
    pairs: Pairs = ""
    spans: bool = False
    replaced: bool = False
    version: int = 1  # raised when its features change

    @property
    def fills_masks(self) -> bool:
        """Whether the trained model predicts the words under masks."""
        return self.masked and not self.replaced

    @property
    def paired(self) -> bool:
        """Whether the encoder reads pairs of texts."""
        return bool(self.pairs)


OBJECTIVES = {
    "mlm": Objective(what="masked words"),
    "mlm-nsp": Objective(what="also the next sentence", pairs="next", version=2),
    "mlm-sop": Objective(what="also the order of two texts", pairs="order"),
    "mlm-sbo": Objective(what="spans, also from the tokens around them", spans=True),
    "rtd": Objective(what="which tokens a generator replaced", replaced=True),
    "ltr": Objective(what="the next word", masked=False),
}
LISTED = "; ".join(f"{name}: {objective.what}" for name, objective in OBJECTIVES.items())
PAIRED = tuple(name for name, objective in OBJECTIVES.items() if objective.paired)

if TYPE_CHECKING:
    ObjectiveName = str
else:
    ObjectiveName = Literal[tuple(OBJECTIVES)]
