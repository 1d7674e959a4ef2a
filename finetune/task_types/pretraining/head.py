"""Heads for pre-training: masked words, masked words and the next sentence, or the next word.

Devlin et al. 2019, section 3.1, and Table 5 for left to right.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.families import FAMILIES, can_be_left_to_right
from finetune.models.feature import IGNORED
from finetune.models.head import Head, activation, dense_layer, norm_layer
from finetune.task_types.pretraining.pieces import NEXT, WORDS

POSITIONS_AT_ONCE = 256  # positions whose loss is found together in predicting


class WordHead(Head):
    """A logit for each token of the vocabulary, at the positions that are read and no others.

    Dense, activation and LayerNorm; then the word embeddings are the output matrix. They are the encoder's: this head
    does not own them, so that they are one tensor for the optimizer, in a checkpoint, and in every process. Some
    families have a matrix of their own there, the `decoder`.
    """

    inputs = frozenset({"sequence"})
    pretrains = True
    left_to_right: ClassVar[bool] = False
    auto_class = "AutoModelForMaskedLM"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(())
        config = backbone.config
        if backbone.left_to_right and not self.left_to_right:
            raise UserError(
                "this encoder reads from left to right, and masked words need both sides", "Set objective=ltr"
            )
        if config.model_type not in FAMILIES:
            raise encoder_refused(backbone, "cannot be pre-trained here", "one of the types", FAMILIES)
        if backbone.reader is not None:
            raise UserError(
                "pre-training reads the last layer alone",
                "Leave layers and bilstm out; set them for the task that follows",
            )
        family = FAMILIES[config.model_type]
        names = (None if getattr(config, "legacy", True) else family.words_unless_legacy) or family.words
        embeddings = backbone.encoder.get_input_embeddings()
        self._shared: tuple[nn.Embedding] = (embeddings,)  # in a tuple, so that it is not a part of this module
        self.vocabulary, width = embeddings.weight.shape
        has_matrix = names.own_matrix and not config.tie_word_embeddings
        width = getattr(config, "output_embedding_size", width) if has_matrix else width
        self.checkpoint_names = {"decoder" if has_matrix else "": names.output}
        if names.dense is not None:
            self.dense = dense_layer(config, backbone.width, width)
            own_activation = names.activation or getattr(config, "hidden_act", None)
            self.activation = activation(config, own_activation or "activation")
            self.norm = norm_layer(config, width, epsilon=names.epsilon)
            self.checkpoint_names |= {"dense": names.dense, "norm": names.norm}
        biased = getattr(config, names.bias, True)
        self.decoder = nn.Linear(width, self.vocabulary, bias=biased) if has_matrix else None
        self.bias = nn.Parameter(torch.zeros(self.vocabulary)) if biased and not has_matrix else None

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Any:
        """`(batch, positions, width)` to `(batch, positions, vocabulary)`."""
        if hasattr(self, "dense"):
            hidden = self.norm(self.activation(self.dense(hidden)))
        return self.words(hidden)

    def words(self, vectors: Tensor) -> Tensor:
        """Logits of the vocabulary from vectors as wide as the word embeddings."""
        if self.decoder is not None:
            return self.decoder(vectors)  # type: ignore[no-any-return]
        return functional.linear(vectors, self._shared[0].weight, self.bias)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy summed over the positions `(batch, positions)`."""
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {WORDS: self.loss(logits, labels[WORDS])}

    def reduced(self, logits: Any, labels: Mapping[str, Tensor]) -> Tensor:
        """`(batch, positions, 2)`: the loss of each label in nats, 0 where it is ignored, and the most probable id."""
        flat, wanted = logits.flatten(0, 1), labels[WORDS].flatten()  # classes last, twice as fast as in the middle
        parts = (torch.split(values, POSITIONS_AT_ONCE) for values in (flat, wanted))  # since cross-entropy copies
        nats = [
            functional.cross_entropy(vectors, ids, ignore_index=IGNORED, reduction="none")
            for vectors, ids in zip(*parts, strict=True)
        ]
        return torch.stack([torch.cat(nats).view_as(labels[WORDS]), logits.argmax(-1).to(nats[0].dtype)], dim=-1)


class NextWordHead(WordHead):
    """The token after each position; it makes the encoder attend to earlier tokens alone."""

    left_to_right = True
    auto_class = "AutoModelForCausalLM"

    def __init__(self, backbone: Backbone) -> None:
        if not can_be_left_to_right(backbone.config):
            able = [family.title for family in FAMILIES.values() if family.left_to_right]
            raise encoder_refused(
                backbone, "cannot read from left to right", "an encoder that can, or another objective", able
            )
        super().__init__(backbone)
        backbone.encoder.config.is_decoder = True  # for where it is loaded again
        for module in backbone.encoder.modules():
            for name in ("is_causal", "is_decoder"):
                if hasattr(module, name):
                    setattr(module, name, True)


class NextSentenceHead(WordHead):
    """Masked words, and from the pretrained pooler's output whether the second text follows the first."""

    inputs = frozenset({"sequence", "pooled"})
    auto_class = "AutoModelForPreTraining"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        name = FAMILIES[backbone.config.model_type].next_sentence
        if name is None or getattr(backbone.encoder, "pooler", None) is None:
            able = [family.title for family in FAMILIES.values() if family.next_sentence]
            raise encoder_refused(backbone, "have no pooler for next sentences", "one that has, or objective=mlm", able)
        self.next = nn.Linear(backbone.width, 2)
        self.checkpoint_names["next"] = name
        self.uses_pooler = True

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> dict[str, Tensor]:
        """Logits of words `(batch, positions, vocabulary)`, and whether the second text is the next `(batch, 2)`."""
        return {WORDS: super().forward(hidden, mask), NEXT: self.next(pooled)}

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cross-entropy of both, each summed over its own labels."""
        following = functional.cross_entropy(logits[NEXT], labels[NEXT], reduction="sum")
        return super().losses(logits[WORDS], labels) | {NEXT: following}

    def reduced(self, logits: Any, labels: Mapping[str, Tensor]) -> Tensor:
        """As for words; then at each position the two logits of the next sentence: `(batch, positions, 4)`."""
        words = super().reduced(logits[WORDS], labels)
        return torch.cat([words, logits[NEXT].unsqueeze(1).expand(-1, words.shape[1], -1)], dim=-1)


class TrainingParts(Head):
    """A head with a part, `training_only`, that `initialise` adds for training and a saved model does not need."""

    training_only: ClassVar[str]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.register_load_state_dict_pre_hook(_without_part)  # type: ignore[no-untyped-call]

    def names_in_checkpoint(self) -> dict[str, str]:
        saved = (name for name in self.state_dict() if not name.startswith(f"{self.training_only}."))
        parts = {name: name.rpartition(".") for name in saved}
        return {name: f"{self.checkpoint_names[layer]}.{kind}" for name, (layer, _, kind) in parts.items()}

    def from_checkpoint(self, state: dict[str, Tensor]) -> None:
        saved = {ours: state[theirs] for ours, theirs in self.names_in_checkpoint().items()}
        self.load_state_dict(self.state_dict() | saved)


def _without_part(head: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Leaves the part out of a state that is loaded, where a head does not train; our own heads have it."""
    part = f"{prefix}{head.training_only}."
    if not hasattr(head, head.training_only):
        for name in [name for name in state if name.startswith(part)]:
            del state[name]


def encoder_refused(backbone: Backbone, what: str, remedy: str, able: Iterable[str]) -> UserError:
    """The error for encoders of a type, and those that are able."""
    return UserError(f"encoders of type '{backbone.config.model_type}' {what}", f"Choose {remedy}: {', '.join(able)}")
