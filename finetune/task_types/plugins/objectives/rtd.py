"""Replaced tokens: a generator fills in masks by sampling, and the encoder tells which tokens were replaced.

Clark et al. 2020 (ELECTRA), sections 2 and 3.2. The generator, which only training has, is a small encoder with a head
for masked words; the discriminator, the model that is saved, tells of every token whether it is the one that was there.
The loss is the masked words' plus WEIGHT times the tokens'. Both share the embeddings.

A generator's samples would differ with each generator; so in dev words are exchanged for other words of their document,
chosen by the text alone. The score says how well an exchanged word is distinguished from all other words: the
perplexity is among how many words it might be, and as many words are named as were exchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import regex
import torch
from torch import Tensor, nn
from torch.nn import functional

from finetune.data.documents import Document
from finetune.metrics.words import masked_accuracy, perplexity, probability
from finetune.models.backbone import Backbone, at_positions
from finetune.models.batch import Batch
from finetune.models.encoder_size import BASE_WIDTH, SPREAD
from finetune.models.feature import IGNORED, Feature
from finetune.models.freezing import reinitialise
from finetune.models.head import activation, dense_layer
from finetune.task_types.pretraining.dev import DIGITS, chosen_words, dev_tokens, random_bits, word_features, words_of
from finetune.task_types.pretraining.draw import MaskUnit, with_masks
from finetune.task_types.pretraining.head import TrainingParts, encoder_refused
from finetune.task_types.pretraining.objectives import Objective
from finetune.task_types.pretraining.pieces import WORDS, PieceVocabulary

REPLACED = "replaced"  # labels of tokens: in training the ids that were there, in dev 1 for each of an exchanged word
READ = "read"  # among the logits: the ids that the discriminator read
WEIGHT = 50.0  # of the discriminator's loss
SIZE = 0.25  # of the generator: its widths as a share of the encoder's; the paper has 1/4 to 1/2
GENERATING = ("bert", "electra")  # types whose embeddings a generator can share
OTHERS = 1 << 20  # follows a word's number in what its replacement is drawn from


class ReplacedTokens(Objective):
    """Which tokens a generator replaced; in dev, which words were exchanged."""

    metrics = (perplexity, probability, replace(masked_accuracy, name="replaced words"))

    def head(self, backbone: Backbone) -> "ReplacedHead":
        return ReplacedHead(backbone)

    def draw(
        self, features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
    ) -> list[Feature]:
        """Each masked token is [MASK]; the labels are the masked words, and all ids before masking."""
        drawn, mask = with_masks(features, generator, share=share, unit=unit), features[0].note.vocabulary.mask_id
        for number, (before, after) in enumerate(zip(features, drawn, strict=True)):
            ids = np.array(before.input_ids)
            ids[after.reads] = mask
            drawn[number] = replace(after, input_ids=ids, label=after.label | {REPLACED: before.input_ids})
        return drawn

    def encode(self, rows: Sequence[Document], vocabulary: PieceVocabulary, *, size: int) -> list[Feature]:
        """All pieces of each document with exchanged words; every word is read."""
        changed = [exchanged(row)[0] for row in rows]
        tokens, features = dev_tokens(changed, vocabulary), list[Feature]()
        for feature in word_features(changed, tokens, vocabulary, size=size, masked=False, chosen=words_of):
            numbers = list(exchanged(rows[feature.row])[1])
            first, end = (np.searchsorted(numbers, feature.note.words[:, place] + place) for place in (0, 1))
            features.append(replace(feature, label={REPLACED: (end > first).astype(np.int64)}))
        return features

    def labels(self, row: Document) -> dict[str, Any]:
        words = [words_of(row)[number].text for number in exchanged(row)[1]]
        return {"words": words, "nats": [0.0] * len(words)}

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
    ) -> list[dict[str, Any]]:
        """As many words as were exchanged: the ones with the highest logit of a token; for a missed one the word named
        instead, in brackets. The nats are an exchanged word's, among all that were not exchanged.
        """
        highest = [np.full(len(words_of(row)), -np.inf) for row in rows]
        for reduced, feature in zip(logits, features, strict=True):
            for (first, last), logit in zip(feature.note.words.tolist(), reduced[:, 0].tolist(), strict=True):
                scores = highest[feature.row][first : last + 1]
                scores[:] = np.maximum(scores, logit)
        return [_named(row, scores) for row, scores in zip(rows, highest, strict=True)]


def _named(row: Document, scores: np.ndarray) -> dict[str, Any]:
    """The prediction for a document from a logit for each of its words, `(words,)`."""
    words, numbers = words_of(exchanged(row)[0]), list(exchanged(row)[1])
    scores = np.where(
        np.isinf(scores), scores.min(initial=0, where=~np.isinf(scores)), scores
    )  # of words without tokens
    named = np.argsort(-scores, kind="stable")[: len(numbers)].tolist()
    instead = iter(sorted(set(named) - set(numbers)))
    named_words = [words_of(row)[n].text if n in named else f"[{words[next(instead)].text}]" for n in numbers]
    others = np.logaddexp.reduce(np.delete(scores, numbers)) if len(words) > len(numbers) else -np.inf
    nats = [round(float(np.logaddexp(others, scores[n]) - scores[n]), DIGITS) for n in numbers]
    return {"words": named_words, "nats": nats}


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


class ReplacedHead(TrainingParts):
    """A logit for each token that is read: above 0 where it seems replaced."""

    inputs = frozenset({"sequence"})
    pretrains = True
    auto_class = "AutoModelForPreTraining"
    training_only = "generator"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(())
        config = backbone.config
        if config.model_type not in GENERATING or backbone.left_to_right or backbone.reader is not None:
            raise encoder_refused(backbone, "have no generator for objective=rtd here", "one of the types", GENERATING)
        self.dense = dense_layer(config, backbone.width, backbone.width)
        self.activation = activation(config, "hidden_act")
        self.output = nn.Linear(backbone.width, 1)
        self.has_class = config.model_type == "electra"
        layers = "discriminator_predictions."
        self.checkpoint_names = {"dense": f"{layers}dense", "output": f"{layers}dense_prediction"}
        self._encoder = (backbone.encoder,)  # in a tuple, so that it is not a part of this module

    def initialise(self) -> None:
        """Also makes the generator."""
        super().initialise()
        self.generator = Generator(self._encoder[0])

    def in_training(self, batch: Batch) -> Batch:
        """The batch with what the generator sampled at the masked positions; all of its tokens are read."""
        positions: Any = batch.positions
        logits = self.generator(batch)
        ids = with_samples(batch.input_ids, positions, sampled(logits.detach()))
        self._generated = {WORDS: logits, READ: ids}
        return replace(batch, input_ids=ids, positions=None)

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Any:
        """`(batch, positions, width)` to `(batch, positions, 1)`; in training by the name REPLACED, without the last
        axis, next to the generator's logits `(batch, masked positions, vocabulary)` and the ids that were read.
        """
        logits = self.output(self.activation(self.dense(hidden)))
        return self.__dict__.pop("_generated") | {REPLACED: logits.squeeze(-1)} if self.training else logits

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The loss of the masked words plus WEIGHT times the tokens', each summed over its own labels; on dev the
        tokens' alone.
        """
        if isinstance(logits, Tensor):
            return {REPLACED: _binary(logits.squeeze(-1), labels[REPLACED] == 1, labels[REPLACED] != IGNORED)}
        width = logits[READ].shape[1]
        before = functional.pad(labels[REPLACED], (0, width), value=IGNORED)[:, :width]
        detection = _binary(logits[REPLACED], logits[READ].long() != before, before != IGNORED)
        flat = logits[WORDS].flatten(0, 1), labels[WORDS].flatten()
        return {
            WORDS: functional.cross_entropy(*flat, ignore_index=IGNORED, reduction="sum"),
            REPLACED: WEIGHT * detection,
        }

    def config_settings(self) -> dict[str, Any]:
        return {}


class Generator(nn.Module):
    """An encoder SIZE times as wide as another, as deep and with its embeddings, with a head for masked words."""

    def __init__(self, encoder: Any) -> None:
        from transformers import ElectraConfig, ElectraModel

        super().__init__()
        theirs = encoder.config
        heads = max(1, round(SIZE * theirs.num_attention_heads))
        config = ElectraConfig.from_dict(
            theirs.to_dict()
            | {
                "embedding_size": getattr(theirs, "embedding_size", theirs.hidden_size),
                "hidden_size": heads * max(1, round(SIZE * theirs.hidden_size / heads)),
                "num_attention_heads": heads,
                "intermediate_size": max(1, round(SIZE * theirs.intermediate_size)),
            }
        )
        self.encoder = ElectraModel(config)
        self.encoder.embeddings = SharedEmbeddings(encoder.embeddings)
        width = config.embedding_size
        self.dense, self.norm = nn.Linear(config.hidden_size, width), nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.activation = nn.GELU()
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        reinitialise(self, spread=SPREAD * (BASE_WIDTH / config.hidden_size) ** 0.5)

    def forward(self, batch: Batch) -> Tensor:
        """Logits of the tokens that are read, `(batch, positions, vocabulary)`."""
        inputs, positions = batch.for_encoder(), batch.positions
        hidden = self.encoder(**{name: inputs[name] for name in inputs if name != "positions"}).last_hidden_state
        hidden = self.norm(self.activation(self.dense(at_positions(hidden, positions))))  # type: ignore[arg-type]
        return functional.linear(hidden, self.encoder.embeddings.words, self.bias)


class SharedEmbeddings(nn.Module):
    """The embeddings of another encoder, which has their weights."""

    def __init__(self, embeddings: nn.Module) -> None:
        super().__init__()
        self._shared = (embeddings,)  # in a tuple, so that they are not a part of this module

    @property
    def words(self) -> Tensor:
        """The words' vectors `(vocabulary, width)`."""
        return self._shared[0].word_embeddings.weight  # type: ignore[union-attr, return-value]

    def forward(self, **inputs: Any) -> Any:
        """The embeddings of ids `(batch, length, width)`."""
        return self._shared[0](**inputs)


OBJECTIVE = ReplacedTokens


def sampled(logits: Tensor) -> Tensor:
    """An id from each row of logits `(..., vocabulary)`, as often as their softmax says, by torch's random numbers."""
    noise = -torch.rand_like(logits, dtype=torch.float32).clamp(min=1e-20).log()
    return (logits.float() - noise.log()).argmax(-1)


def with_samples(ids: Any, positions: Tensor, samples: Tensor) -> Tensor:
    """Ids `(batch, length)` with the samples at the positions `(batch, n)`, of which -1 is none."""
    wide = functional.pad(ids, (0, 1))  # a last column for positions that are none
    return wide.scatter(1, torch.where(positions < 0, ids.shape[1], positions), samples)[:, :-1]


def _binary(logits: Tensor, wrong: Tensor, counted: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(logits, wrong.float(), counted.float(), reduction="sum")
