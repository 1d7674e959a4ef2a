"""Words near a word: word2vec's skip-gram with negative sampling, for an encoder without layers (`model=new:0x128`),
whose vectors are its embeddings.

Mikolov et al. 2013 (Distributed Representations of Words and Phrases), section 2.2: for each token, a token near it is
distinguished from NEGATIVES others. The near one is drawn again for each update, with the chances that a window of 1 to
WINDOW tokens on both sides gives it. The others are drawn evenly from the vocabulary, where the paper prefers frequent
ones: so the softmax over the vocabulary of the scores that are learned is the chance of a word to be near (Gutmann and
Hyvärinen 2012, noise-contrastive estimation), by which dev asks for the word after a word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.draw import MaskUnit, text_positions
from finetune.task_types.pretraining.head import WordHead
from finetune.task_types.pretraining.objectives import Objective
from finetune.task_types.pretraining.pieces import WORDS

WINDOW, NEGATIVES = 5, 20


class SkipGram(Objective):
    """A word near each word, from that word alone."""

    masks = "nothing"
    reads_before = True

    def head(self, backbone: Backbone) -> "SkipGramHead":
        return SkipGramHead(backbone)

    def draw(
        self, features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
    ) -> list[Feature]:
        """Every token of the text is read; its labels are the id of a near token and NEGATIVES others, or IGNORED where
        the near one would be outside of the text.
        """
        ids, (text, owners) = np.concatenate([feature.input_ids for feature in features]), text_positions(features)
        distance = generator.integers(1, generator.integers(1, WINDOW + 1, len(text)), endpoint=True)
        near = np.arange(len(text)) + distance * generator.choice([-1, 1], len(text))
        at = near.clip(0, len(text) - 1)
        labels = generator.choice(features[0].note.vocabulary.ordinary, (len(text), 1 + NEGATIVES))
        labels[:, 0] = np.where((at == near) & (owners[at] == owners), ids[text[at]], IGNORED)
        starts, drawn = np.cumsum([0, *map(len, features)]), list[Feature]()
        for number, feature in enumerate(features):
            tokens = owners == number
            drawn.append(replace(feature, reads=text[tokens] - starts[number], label={WORDS: labels[tokens]}))
        return drawn


class SkipGramHead(WordHead):
    """A logit for each token of the vocabulary to be near the token that is read."""

    def __init__(self, backbone: Backbone) -> None:
        if backbone.config.num_hidden_layers:
            raise UserError(
                "objective=skip-gram is for an encoder without layers: others see the words around a word",
                "Set model=new:0x128, or another objective",
            )
        super().__init__(backbone)

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Binary cross-entropy of each id `(batch, tokens, 1 + NEGATIVES)`, summed; the first id is a near one."""
        counted = labels[WORDS][..., 0] != IGNORED
        scores = logits[counted].gather(-1, labels[WORDS][counted].long())
        near = torch.zeros_like(scores)
        near[:, 0] = 1
        return {WORDS: functional.binary_cross_entropy_with_logits(scores, near, reduction="sum")}


OBJECTIVE = SkipGram
