"""What scoring needs of the logits of an exported head for words, as `Head.reduced` gives it by torch."""

from collections.abc import Mapping

import numpy as np

from finetune.models.feature import IGNORED, LOGITS, Feature
from finetune.task_types.pretraining.label_names import NEXT, WORDS


def reduced_outputs(outputs: Mapping[str, np.ndarray], feature: Feature) -> np.ndarray:
    """`(positions, 2)`, or with the logits of the next sentence `(positions, 4)`, from `logits`
    `(positions, vocabulary)` and `next` `(2,)`: the nats of each label, 0 where it is ignored, and the best id.
    """
    logits, labels = outputs[LOGITS], np.asarray(feature.label[WORDS])
    most = logits.max(-1, keepdims=True)
    totals = np.log(np.exp(logits - most).sum(-1)) + most[:, 0]
    there = labels != IGNORED
    nats = np.where(there, totals - logits[np.arange(len(labels)), np.where(there, labels, 0)], 0)
    reduced = np.stack([nats, logits.argmax(-1).astype(nats.dtype)], axis=-1)
    if NEXT not in outputs:
        return reduced
    return np.concatenate([reduced, np.tile(outputs[NEXT], (len(labels), 1))], axis=-1)
