"""Replaced tokens: the encoder says of each token whether it is the one that was there.

Clark et al. 2020 (ELECTRA), with the untrained generator of their section 3.2: a replacement is drawn as often as it
occurs, here in the batch. In dev, words that the text alone chose are exchanged for others of their document: as many
words are named as were exchanged, and the perplexity is among how many words an exchanged one might be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import regex
from torch import Tensor, nn
from torch.nn import functional

from finetune.data.documents import Document
from finetune.metrics.words import masked_accuracy, perplexity, probability
from finetune.models.backbone import Backbone
from finetune.models.feature import IGNORED, Feature
from finetune.models.head import Head, activation, dense_layer
from finetune.task_types.pretraining.dev import DIGITS, chosen_words, dev_tokens, random_bits, word_features, words_of
from finetune.task_types.pretraining.draw import MaskUnit, reading_at, text_positions
from finetune.task_types.pretraining.head import encoder_refused
from finetune.task_types.pretraining.objectives import Objective
from finetune.task_types.pretraining.pieces import WORDS, PieceVocabulary

TYPES = ("bert", "electra")  # of encoders; transformers has a class for the second
OTHERS = 1 << 20  # follows a word's number in what its replacement is drawn from


class ReplacedTokens(Objective):
    """Which tokens were replaced; in dev, which words were exchanged. Labels are 1 where one was, else 0."""

    version = 2
    masks = "nothing"
    metrics = (perplexity, probability, replace(masked_accuracy, name="replaced words"))

    def head(self, backbone: Backbone) -> "ReplacedHead":
        return ReplacedHead(backbone)

    def draw(
        self, features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
    ) -> list[Feature]:
        """A share of the tokens of the text, each replaced by a random one of the batch; every token is read."""
        before, (text, _) = np.concatenate([feature.input_ids for feature in features]), text_positions(features)
        chosen, ids = text[generator.random(len(text)) < share], before.copy()
        ids[chosen] = before[generator.choice(text, len(chosen))]
        return reading_at(features, ids, text, (ids != before)[text].astype(np.int64), before=0)

    def encode(self, rows: Sequence[Document], vocabulary: PieceVocabulary, *, size: int) -> list[Feature]:
        """All pieces of each document with exchanged words; every word is read."""
        changed = [exchanged(row)[0] for row in rows]
        tokens, features = dev_tokens(changed, vocabulary), list[Feature]()
        for feature in word_features(changed, tokens, vocabulary, size=size, masked=False, chosen=words_of):
            numbers = list(exchanged(rows[feature.row])[1])
            first, end = (np.searchsorted(numbers, feature.note.words[:, place] + place) for place in (0, 1))
            features.append(replace(feature, label={WORDS: (end > first).astype(np.int64)}))
        return features

    def labels(self, row: Document) -> dict[str, Any]:
        words = [words_of(row)[number].text for number in exchanged(row)[1]]
        return {"words": words, "nats": [0.0] * len(words)}

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
    ) -> list[dict[str, Any]]:
        """As many words as were exchanged, those of which a token has the highest logits; for one that is missed, the
        word that is named instead, in brackets. The nats are those of an exchanged word among all that were not.
        """
        highest = [np.full(len(words_of(row)), -np.inf) for row in rows]
        for of_tokens, feature in zip(logits, features, strict=True):
            for (first, last), logit in zip(feature.note.words.tolist(), of_tokens[:, 0].tolist(), strict=True):
                scores = highest[feature.row][first : last + 1]
                scores[:] = np.maximum(scores, logit)
        return [_named(row, scores) for row, scores in zip(rows, highest, strict=True)]


def _named(row: Document, scores: np.ndarray) -> dict[str, Any]:
    """The prediction from a logit for each word of a document `(words,)`; of a word without tokens it is the least."""
    words, numbers = words_of(exchanged(row)[0]), list(exchanged(row)[1])
    scores = np.where(np.isinf(scores), scores.min(initial=0, where=~np.isinf(scores)), scores)
    named = np.argsort(-scores, kind="stable")[: len(numbers)].tolist()
    instead = iter(sorted(set(named) - set(numbers)))
    found = [words_of(row)[n].text if n in named else f"[{words[next(instead)].text}]" for n in numbers]
    others = np.logaddexp.reduce(np.delete(scores, numbers)) if len(words) > len(numbers) else -np.inf
    nats = [round(float(np.logaddexp(others, scores[n]) - scores[n]), DIGITS) for n in numbers]
    return {"words": found, "nats": nats}


@lru_cache(maxsize=8_192)  # of dev, which is scored again and again
def exchanged(document: Document) -> tuple[Document, tuple[int, ...]]:
    """A document whose chosen words are exchanged for other words of it, and the numbers of these among its words.

    An ideograph is exchanged for another one, so that words stay words. One that has no other stays.
    """
    words, lines, chosen, numbers = words_of(document), list(document.lines), set(chosen_words(document)), list[int]()
    texts = {kind: sorted({word.text for word in words if _is_han(word.text) == kind}) for kind in (False, True)}
    for number, word in reversed([*enumerate(words)]):  # from the end, so that the places of those before stay
        others = [text for text in texts[_is_han(word.text)] if text.casefold() != word.text.casefold()]
        if word in chosen and others:
            text, line = others[random_bits(document, OTHERS + number) % len(others)], lines[word.line]
            lines[word.line] = line[: word.start] + text + line[word.end :]
            numbers.append(number)
    return Document(document.id, tuple(lines)), tuple(reversed(numbers))


def _is_han(text: str) -> bool:
    return regex.fullmatch(r"\p{Han}", text) is not None


class ReplacedHead(Head):
    """A logit for each token that is read: above 0 where it seems replaced."""

    inputs = frozenset({"sequence"})
    pretrains = True
    auto_class = "AutoModelForPreTraining"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(())
        config, layers = backbone.config, "discriminator_predictions."
        if config.model_type not in TYPES or backbone.left_to_right or backbone.reader is not None:
            raise encoder_refused(backbone, "cannot learn objective=rtd here", "one of the types", TYPES)
        self.dense = dense_layer(config, backbone.width, backbone.width)
        self.activation = activation(config, "hidden_act")
        self.output = nn.Linear(backbone.width, 1)
        self.has_class = config.model_type == "electra"
        self.checkpoint_names = {"dense": f"{layers}dense", "output": f"{layers}dense_prediction"}

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, positions, width)` to `(batch, positions, 1)`."""
        return self.output(self.activation(self.dense(hidden)))  # type: ignore[no-any-return]

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Binary cross-entropy, summed over the tokens that have a label."""
        there = (labels[WORDS] != IGNORED).to(logits.dtype)
        wanted = (labels[WORDS] == 1).to(logits.dtype)
        loss = functional.binary_cross_entropy_with_logits(logits.squeeze(-1), wanted, there, reduction="sum")
        return {WORDS: loss}

    def config_settings(self) -> dict[str, Any]:
        return {}


OBJECTIVE = ReplacedTokens
