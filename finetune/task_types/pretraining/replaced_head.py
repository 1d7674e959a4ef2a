"""The head that tells which tokens a generator replaced, and the generator, which only training has.

Clark et al. 2020, ELECTRA, section 2: a small encoder with a head for masked words fills in the masks by sampling, and
the discriminator, the model that is saved, tells of every token whether it is the one that was there. The loss is that
of the masked words and WEIGHT times that of the tokens. Both share the embeddings (section 3.2).
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from finetune.errors import UserError
from finetune.models.backbone import Backbone, at_positions
from finetune.models.batch import Batch
from finetune.models.encoder_sizes import BASE_WIDTH, SPREAD
from finetune.models.feature import IGNORED
from finetune.models.freezing import reinitialise
from finetune.models.head import Head, activation, dense_layer
from finetune.task_types.pretraining.head import pretrained_family
from finetune.task_types.pretraining.label_names import REPLACED, WORDS

WEIGHT = 50.0  # of the discriminator's loss
GENERATING = ("bert", "electra")  # types whose embeddings a generator can share
READ = "read"  # among the logits: the ids that the discriminator read
WHOLE = 1 << 40  # parts of a probability: sums of whole numbers are exact in any order


class ReplacedHead(Head):
    """A logit for each token that is read: above 0 where it seems replaced."""

    inputs = frozenset({"sequence"})
    pretrains = True
    reads_words = True
    reads_batches = True
    training_only = ("generator",)
    auto_class = "AutoModelForPreTraining"

    def __init__(self, backbone: Backbone, *, generator_size: float) -> None:
        super().__init__(())
        config = backbone.config
        pretrained_family(backbone)
        if config.model_type not in GENERATING or backbone.left_to_right:
            raise UserError(
                f"encoders of type '{config.model_type}' have no generator for objective=rtd here",
                "Choose objective=mlm, or an encoder that reads both sides, of type " + " or ".join(GENERATING),
            )
        self.dense = dense_layer(config, backbone.width, backbone.width)
        self.activation = activation(config, "hidden_act")
        self.output = nn.Linear(backbone.width, 1)
        self.has_class = config.model_type == "electra"
        layers = "discriminator_predictions."
        self.checkpoint_names = {"dense": f"{layers}dense", "output": f"{layers}dense_prediction"}
        self._backbone, self._size = (backbone,), generator_size  # in a tuple, so that it is not a part of this module

    def initialise(self) -> None:
        """Also makes the generator."""
        super().initialise()
        self.generator = Generator(self._backbone[0].encoder, size=self._size)

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, positions, width)` to `(batch, positions, 1)`."""
        return self.output(self.activation(self.dense(hidden)))  # type: ignore[no-any-return]

    def of_batch(self, batch: Batch, backbone: Backbone) -> dict[str, Tensor]:
        """The generator's logits of the masked tokens `(batch, positions, vocabulary)`, the ids with what it sampled,
        and the discriminator's logits of all of these, both `(batch, length)`.
        """
        masked: Any = batch.input_ids
        positions: Any = batch.positions
        generated = self.generator(batch)
        ids = with_samples(masked, positions, sampled(generated.detach(), batch.draws))
        inputs = batch.for_encoder() | {"input_ids": ids, "positions": None}
        states, mask = backbone.hidden_states(backbone.layer_indices(pooled=False), pooled=False, **inputs)
        found = self(backbone.read(states, mask, pooled=False), mask).squeeze(-1)
        return {WORDS: generated, REPLACED: found, READ: ids}

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cross-entropy of the masked words, and WEIGHT times that of the tokens, each summed over its own labels; of
        the logits of dev that of the tokens alone, whose labels are 1 where they are of an exchanged word.
        """
        there = labels[REPLACED] != IGNORED
        if isinstance(logits, Tensor):
            wrong = labels[REPLACED][there].float()
            each = functional.binary_cross_entropy_with_logits(logits[..., 0][there], wrong, reduction="sum")
            return {REPLACED: each}
        wrong = (logits[READ].long() != labels[REPLACED])[there].float()
        found = functional.binary_cross_entropy_with_logits(logits[REPLACED][there], wrong, reduction="sum")
        flat = logits[WORDS].flatten(0, 1), labels[WORDS].flatten()
        return {WORDS: functional.cross_entropy(*flat, ignore_index=IGNORED, reduction="sum"), REPLACED: WEIGHT * found}

    def config_settings(self) -> dict[str, Any]:
        return {}


class Generator(nn.Module):
    """An encoder `size` times as wide as another, whose embeddings it shares, with a head for masked words."""

    def __init__(self, encoder: Any, *, size: float) -> None:
        from transformers import ElectraModel

        super().__init__()
        config = _smaller(encoder.config, size)
        self.encoder = ElectraModel(config)
        self.encoder.embeddings = SharedEmbeddings(encoder.embeddings)
        width = config.embedding_size
        self.dense, self.norm = nn.Linear(config.hidden_size, width), nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.activation = nn.GELU()
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        reinitialise(self, spread=SPREAD * (BASE_WIDTH / config.hidden_size) ** 0.5)

    def forward(self, batch: Batch) -> Tensor:
        """Logits of the tokens that are read, `(batch, positions, vocabulary)`."""
        positions: Any = batch.positions
        inputs = batch.for_encoder()
        given = {name: inputs[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        hidden = at_positions(self.encoder(**given).last_hidden_state, positions)
        hidden = self.norm(self.activation(self.dense(hidden)))
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
        """Those of ids `(batch, length, width)`."""
        return self._shared[0](**inputs)


def _smaller(config: Any, size: float) -> Any:
    """The generator's config: its widths are `size` times those of the encoder, its depth is the same (section 3.2)."""
    from transformers import ElectraConfig

    heads = max(1, round(size * config.num_attention_heads))
    return ElectraConfig(
        vocab_size=config.vocab_size,
        embedding_size=getattr(config, "embedding_size", config.hidden_size),
        hidden_size=heads * max(1, round(size * config.hidden_size / heads)),
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=heads,
        intermediate_size=max(1, round(size * config.intermediate_size)),
        hidden_act=config.hidden_act,
        hidden_dropout_prob=config.hidden_dropout_prob,
        attention_probs_dropout_prob=config.attention_probs_dropout_prob,
        max_position_embeddings=config.max_position_embeddings,
        type_vocab_size=config.type_vocab_size,
        layer_norm_eps=config.layer_norm_eps,
        pad_token_id=config.pad_token_id,
    )


def sampled(logits: Tensor, draws: Tensor | None) -> Tensor:
    """An id from each row of logits `(..., vocabulary)`: the one within whose part of all the number in `draws` is."""
    assert draws is not None
    sums = (logits.float().softmax(-1) * WHOLE).long().cumsum(-1)
    wanted = (draws.double() * sums[..., -1]).long().unsqueeze(-1)
    return torch.searchsorted(sums, wanted, right=True).squeeze(-1).clamp(max=logits.shape[-1] - 1)


def with_samples(ids: Tensor, positions: Tensor, found: Tensor) -> Tensor:
    """Ids `(batch, length)` with what was found at the positions `(batch, n)`, of which -1 is none."""
    wide = functional.pad(ids, (0, 1))  # a last column for positions that are none
    places = torch.where(positions < 0, ids.shape[1], positions)
    return wide.scatter(1, places, found)[:, :-1]
