"""What is random where a generator replaces tokens: which it predicts, and the numbers by which it samples.

Clark et al. 2020, ELECTRA, section 2. All are drawn with the batch, so that neither processes nor parts of a batch
change them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from finetune.models.feature import Feature
from finetune.task_types.pretraining.label_names import REPLACED
from finetune.task_types.pretraining.masks import Masking, MaskUnit

ALL_MASKED = (1.0, 0.0, 0.0)


def with_replacing(
    features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
) -> list[Feature]:
    """The features with [MASK] in place of a share of their tokens, a random number for each, and as the label REPLACED
    all tokens that were there.
    """
    masked = Masking(share=share, replace=ALL_MASKED, unit=unit).masked(features, generator)
    return [
        replace(
            feature,
            draws=generator.random(len(feature.reads)),  # type: ignore[arg-type]
            label={**feature.label, REPLACED: np.asarray(before.input_ids)},
        )
        for before, feature in zip(features, masked, strict=True)
    ]
