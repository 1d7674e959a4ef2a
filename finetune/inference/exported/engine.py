"""Logits of features by an exported graph, as `inference/engine.py` gives them by the model. No torch.

A graph holds what is the same for every batch. Outside of it are the batches by tokens, the positions that are read,
the choices of a row, and for a head with a vocabulary what is kept of its logits.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from finetune.inference.exported.export_facts import IDS, MASK, POSITIONS, SEGMENTS, ExportFacts
from finetune.inference.feature_batches import BATCH_TOKENS, feature_sizes, require_numbers_only, stepped, token_batches
from finetune.models.feature import LOGITS, Feature, Ids
from finetune.models.feature_arrays import lengths, read_positions
from finetune.models.padding import padded
from finetune.models.plain_numpy import plain_numpy
from finetune.runs import interrupts
from finetune.runs.events import Predicted, Watcher

NO_POSITION = -1

# From the graph's inputs by name to its outputs by name.
Session = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
# From a text's outputs by name, at the positions that are read, and its feature: the logits that are decoded.
Reduce = Callable[[Mapping[str, np.ndarray], Feature], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ExportedEngine:
    """A graph that is loaded, what its folder says of it, the id of the padding token, and what its task's codec keeps
    of the outputs (`Codec.reduced`).
    """

    session: Session
    exported: ExportFacts
    pad_id: int
    watch: Watcher
    reduce: Reduce

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
        """Whether the model predicts words of a text."""
        return bool(self.exported.head.vocabulary)

    def undisturbed(self) -> AbstractContextManager[None]:
        """Leaves what the calling program has set in numpy."""
        return plain_numpy()

    def logits(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """Logits of every feature, without padding, in order; shapes and errors are those of `Engine.logits`."""
        tokens = lengths(features)
        reads = read_positions(features) if POSITIONS in self.exported.inputs else tokens
        sizes = feature_sizes(tokens, reads, vocabulary=self.exported.head.vocabulary)
        found: list[np.ndarray] = [np.zeros(0)] * len(features)
        done = 0
        for indices in token_batches(sizes, tokens=BATCH_TOKENS["cpu"]):
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
        each = self._outputs(sequences)
        if sequences[0] is not features[0]:
            scores = iter([outputs[LOGITS] for outputs in each])
            return [np.concatenate([next(scores) for _ in feature.choices]) for feature in features]
        return [self.reduce(outputs, feature) for outputs, feature in zip(each, features, strict=True)]

    def _outputs(self, sequences: Sequence[Feature]) -> list[dict[str, np.ndarray]]:
        """The graph's outputs for each sequence, without padding; long ones among their own length where they must."""
        above = self.exported.head.padded_up_to
        sizes = lengths(sequences)
        if above is None or sizes.max() <= above:
            return self._of_batch(sequences)
        found: list[dict[str, np.ndarray]] = [{}] * len(sequences)
        kinds = sizes * (sizes > above)
        for kind in np.unique(kinds):
            places = np.flatnonzero(kinds == kind).tolist()
            for place, outputs in zip(places, self._of_batch([sequences[i] for i in places]), strict=True):
                found[place] = outputs
        return found

    def _of_batch(self, sequences: Sequence[Feature]) -> list[dict[str, np.ndarray]]:
        outputs = self.session(self._inputs(sequences))
        logits = outputs[LOGITS]
        each = list(map(self._at_reads, logits, sequences)) if self.exported.head.by_position else list(logits)
        others = [name for name in self.exported.outputs if name != LOGITS]
        return [{LOGITS: one, **{name: outputs[name][index] for name in others}} for index, one in enumerate(each)]

    def _at_reads(self, logits: np.ndarray, feature: Feature) -> np.ndarray:
        """The logits of a sequence at the positions that are read, `(positions, labels)`."""
        if feature.reads is None or POSITIONS in self.exported.inputs:
            return logits[: int(read_positions([feature])[0])]
        return logits[np.asarray(feature.reads, dtype=np.int64)]

    def _inputs(self, sequences: Sequence[Feature]) -> dict[str, np.ndarray]:
        """The tensors of some sequences by the names of the graph's inputs, padded."""
        longest = int(lengths(sequences).max())
        if self.exported.head.vocabulary:
            longest = stepped(longest, most=self.most_tokens)
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
