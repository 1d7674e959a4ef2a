"""What prediction asks of an engine, on torch or on an exported graph."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from finetune.models.feature import Feature


class LogitsEngine(Protocol):
    """A model that is loaded, in whatever computes it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the logits, if they have any."""

    @property
    def most_tokens(self) -> int:
        """The longest sequence that the encoder has positions for."""

    @property
    def overlaps(self) -> bool:
        """Whether a thread encodes rows while the model predicts others."""

    @property
    def computes_in(self) -> tuple[str, str]:
        """What decides its logits other than the model: the device or engine, and the precision."""

    @property
    def pretrains(self) -> bool:
        """Whether the model predicts words of a text."""

    def undisturbed(self) -> AbstractContextManager[None]:
        """Leaves what the calling program has set in the libraries that compute."""

    def logits(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """Logits of every feature, without padding, in order."""
