"""Logits of features by an exported graph, as `inference/engine.py` gives them by the model. No torch.

A graph holds what is the same for every batch. Outside of it are the batches by tokens, the positions that are read,
and the choices of a row.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from finetune.inference.exported.export_facts import IDS, MASK, POSITIONS, SEGMENTS, ExportFacts
from finetune.inference.feature_batches import BATCH_TOKENS, require_numbers_only, token_batches
from finetune.models.feature import Feature, Ids
from finetune.models.feature_arrays import lengths, read_positions
from finetune.models.padding import padded
from finetune.models.plain_numpy import plain_numpy
from finetune.runs import interrupts
from finetune.runs.events import Predicted, Watcher

NO_POSITION = -1

Session = Callable[[Mapping[str, np.ndarray]], np.ndarray]  # from the graph's inputs by name to its logits


@dataclass(frozen=True, kw_only=True)
class ExportedEngine:
    """A graph that is loaded, what its folder says of it, and the id of the padding token."""

    session: Session
    exported: ExportFacts
    pad_id: int
    watch: Watcher

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the logits, if they have any."""
        return self.exported.head.labels

    @property
    def most_tokens(self) -> int:
        """The longest sequence that the encoder has positions for."""
        return self.exported.head.most_tokens

    @property
    def overlaps(self) -> bool:
        """Whether a thread encodes rows while others are computed: the cores are the same, so not."""
        return False

    @property
    def computes_in(self) -> tuple[str, str]:
        """The engine and the precision of its products."""
        return self.exported.engine, self.exported.precision

    @property
    def pretrains(self) -> bool:
        """Whether the model predicts words of a text: such a model is not exported."""
        return False

    def undisturbed(self) -> AbstractContextManager[None]:
        """Leaves what the calling program has set in numpy."""
        return plain_numpy()

    def logits(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """Logits of every feature, without padding, in order; shapes and errors are those of `Engine.logits`."""
        found: list[np.ndarray] = [np.zeros(0)] * len(features)
        done = 0
        for indices in token_batches(lengths(features), tokens=BATCH_TOKENS["cpu"]):
            if interrupts.asked():
                raise interrupts.Stopping
            for index, logits in zip(indices, self._logits([features[i] for i in indices]), strict=True):
                found[index] = logits
            done += len(indices)
            self.watch(Predicted(done=done, total=len(features)))
        require_numbers_only(found, way_out="Export the run again with more of its layers in fp32")
        return found

    def _logits(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """The logits of a batch."""
        sequences = [sequence for feature in features for sequence in feature.choices or (feature,)]
        each = self._of_sequences(sequences)
        if sequences[0] is features[0]:
            return each
        scores = iter(each)
        return [np.concatenate([next(scores) for _ in feature.choices]) for feature in features]

    def _of_sequences(self, sequences: Sequence[Feature]) -> list[np.ndarray]:
        """The logits of each sequence, without padding; long ones among their own length where they must."""
        above = self.exported.head.padded_up_to
        sizes = lengths(sequences)
        if above is None or sizes.max() <= above:
            return self._of_batch(sequences)
        found: list[np.ndarray] = [np.zeros(0)] * len(sequences)
        kinds = sizes * (sizes > above)
        for kind in np.unique(kinds):
            places = np.flatnonzero(kinds == kind).tolist()
            for place, logits in zip(places, self._of_batch([sequences[i] for i in places]), strict=True):
                found[place] = logits
        return found

    def _of_batch(self, sequences: Sequence[Feature]) -> list[np.ndarray]:
        logits = self.session(self._inputs(sequences))
        return list(map(self._at_reads, logits, sequences)) if self.exported.head.by_position else list(logits)

    def _at_reads(self, logits: np.ndarray, feature: Feature) -> np.ndarray:
        """The logits of a sequence at the positions that are read, `(positions, labels)`."""
        if feature.reads is None or POSITIONS in self.exported.inputs:
            return logits[: int(read_positions([feature])[0])]
        return logits[np.asarray(feature.reads, dtype=np.int64)]

    def _inputs(self, sequences: Sequence[Feature]) -> dict[str, np.ndarray]:
        """The tensors of some sequences by the names of the graph's inputs, padded."""
        longest = int(lengths(sequences).max())
        given: dict[str, Callable[[Feature], Ids]] = {
            IDS: lambda one: one.input_ids,
            MASK: lambda one: [1] * len(one),
            SEGMENTS: lambda one: one.token_type_ids if one.token_type_ids is not None else [0] * len(one),
            POSITIONS: lambda one: one.reads if one.reads is not None else range(len(one)),
        }
        fill = {IDS: self.pad_id, POSITIONS: NO_POSITION}
        return {
            name: padded(
                [given[name](one) for one in sequences], fill.get(name, 0), length=0 if name == POSITIONS else longest
            )
            for name in self.exported.inputs
        }
