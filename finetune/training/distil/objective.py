"""The losses of a student: of the labels, of a teacher's answers, and of its layers.

Each is a sum over its own labels, as that of any head; the trainer divides by their number. What a softer target loses
in its gradient, a factor of the temperature squared gives back (Hinton et al. 2015, section 2.1).

Layers: hidden states through a learned projection, and attention (Jiao et al. 2020, TinyBERT). Layer m of M of the
student learns layer m * N / M of the N of its teacher, and the embeddings the embeddings. In TinyBERT this is a step
before the answers are learned; here both are learned together, so that a run stays one run.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from finetune.errors import UserError
from finetune.inference.engine import IMPOSSIBLE
from finetune.models.batch import Batch
from finetune.models.families import FAMILIES
from finetune.models.feature import IGNORED, LABEL, TAUGHT
from finetune.models.freezing import layers_of
from finetune.models.head import EncoderWithHead, Head
from finetune.models.kernels.attention import attention
from finetune.models.kernels.layers import every_token_again, last_layer_for_first_token
from finetune.runs.recipe_tables import Distil

STATES = "states"  # the name of this loss: a text is a label
ATTENTION = "finetune_recorded"


@dataclass
class Recorded:
    """What an encoder computed in its last forward pass: the states after the embeddings and each layer, and the
    attention of each layer before its softmax, where that can be read.
    """

    encoder: PreTrainedModel
    states: list[Tensor] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        before = {module: found for module in self.encoder.modules() if (found := module.__dict__.get("forward"))}
        if every_token_again(self.encoder):
            self.undo.append(partial(self._first_token_again, before))
        embeddings = getattr(self.encoder, "embeddings", None)
        self.undo.append(self.encoder.register_forward_pre_hook(lambda *_: self.states.clear()).remove)
        for layer in [*([embeddings] if embeddings is not None else []), *layers_of(self.encoder)]:
            self.undo.append(layer.register_forward_hook(self._keep).remove)
        family = FAMILIES.get(self.encoder.config.model_type)
        self.attends = family is not None and family.fast_attention
        if self.attends:
            AttentionInterface.register(ATTENTION, recorded_attention)
            AttentionMaskInterface.register(ATTENTION, ALL_MASK_ATTENTION_FUNCTIONS["eager"])
            other = self.encoder.config._attn_implementation
            self.encoder.set_attn_implementation(ATTENTION)
            self.undo.append(lambda: self.encoder.set_attn_implementation(other))

    def _first_token_again(self, forwards: dict[nn.Module, Callable[..., Any]]) -> None:
        """Takes that path again, and the functions of whole layers that were taken after it."""
        last_layer_for_first_token(self.encoder)
        for module, forward in forwards.items():
            setattr(module, "forward", forward)  # noqa: B010

    def _keep(self, _: nn.Module, __: Any, output: Any) -> None:
        self.states.append(output if isinstance(output, Tensor) else output[0])

    @property
    def attention(self) -> list[Tensor]:
        """The attention of each layer, `(batch, heads, length, length)`."""
        parts = [part for layer in layers_of(self.encoder) for part in layer.modules()]
        return [part.recorded for part in parts if hasattr(part, "recorded")]  # type: ignore[misc]

    def close(self) -> None:
        """Leaves the encoder as it was."""
        for undo in self.undo:
            undo()
        for part in self.encoder.modules():
            part.__dict__.pop("recorded", None)


def recorded_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float = 1.0,
    **more: Any,
) -> tuple[Tensor, None]:
    """The attention of the device, which leaves its products of queries and keys on the module."""
    module.recorded = torch.matmul(query * scaling, key.transpose(2, 3))
    attend = attention if query.device.type == "cpu" else sdpa_attention_forward
    return attend(module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more)


@dataclass
class TaughtStates:
    """The loss of a student's layers; `projection` is trained with the student, and left out of what is saved."""

    student: EncoderWithHead
    teacher: PreTrainedModel
    seed: int

    def __post_init__(self) -> None:
        depth, theirs = len(layers_of(self.student.backbone.encoder)), len(layers_of(self.teacher))
        if depth > theirs:
            raise UserError(
                f"distil.states: the student has {depth} layers, and its teacher {theirs}",
                "Leave distil.states out, or keep fewer layers: keep_layers=[...]",
            )
        self.layers = [round((number + 1) * theirs / depth) - 1 for number in range(depth)]
        self.teacher.requires_grad_(False).eval()
        self.ours, self.theirs = Recorded(self.student.backbone.encoder), Recorded(self.teacher)
        widths = self.student.backbone.config.hidden_size, self.teacher.config.hidden_size
        self.projection = nn.Linear(*widths, bias=False)
        if widths[0] == widths[1]:
            nn.init.eye_(self.projection.weight)
        else:
            nn.init.normal_(self.projection.weight, std=0.02, generator=torch.Generator().manual_seed(self.seed))
        self.student.add_module("projection", self.projection.to(next(self.student.parameters()).device))

    def __call__(self, batch: Batch) -> Tensor:
        """The sum over the texts of a batch that went through the student just now."""
        given = {
            name: value for name, value in batch.for_encoder().items() if value is not None and name != "positions"
        }
        with torch.no_grad():
            self.teacher(**given)
        mask = batch.attention_mask.float()
        ours, theirs = self.ours.states, self.theirs.states
        first = len(theirs) - len(layers_of(self.teacher))  # 1 where its embeddings were recorded, else 0
        places = [first + number for number in self.layers]
        if first and len(ours) > len(self.layers):
            places.insert(0, 0)
        pairs = zip(ours[-len(places) :], places, strict=True)
        losses = [_of_texts(self.projection(own.float()), theirs[place], mask) for own, place in pairs]
        if self.ours.attends and self.theirs.attends:
            both = mask.unsqueeze(1) * mask.unsqueeze(2)
            heads = zip(self.ours.attention, self.layers, strict=True)
            attention = self.theirs.attention
            losses += [_of_texts(*_heads(own, attention[number]), both) for own, number in heads]
        return torch.stack(losses).sum()

    def close(self) -> None:
        """Leaves the student as it is saved."""
        self.ours.close()
        self.theirs.close()
        del self.student.projection


def _heads(ours: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor]:
    """Attention with the heads last, `(batch, length, length, heads)`; where their number differs, their mean."""
    if ours.shape[1] != theirs.shape[1]:
        ours, theirs = ours.mean(1, keepdim=True), theirs.mean(1, keepdim=True)
    return ours.permute(0, 2, 3, 1), theirs.permute(0, 2, 3, 1)


def _of_texts(ours: Tensor, theirs: Tensor, mask: Tensor) -> Tensor:
    """The mean squared error of each text, over its own places, summed over texts; `mask` is without the last axis."""
    apart = (ours.float() - theirs.float()).square().mean(-1) * mask
    places = tuple(range(1, mask.ndim))
    return (apart.sum(places) / mask.sum(places)).sum()


@dataclass(frozen=True, kw_only=True)
class TaughtLosses:
    """The objective of a run that learns answers, which are what `learns` of `Teaching` says; `states` adds layers."""

    head: Head
    learns: str
    settings: Distil
    states: TaughtStates | None = None

    def __call__(self, logits: Any, batch: Batch) -> dict[str, Tensor]:
        """The losses of labels and of answers by name, each summed over its own and with its weight."""
        weight, temperature = self.settings.weight, self.settings.temperature
        found = {TAUGHT: weight * soft_loss(logits, batch.labels[TAUGHT], self.learns, temperature)}
        labels = batch.labels[LABEL]
        there = has_label(labels)
        if weight < 1 and bool(there.any()):
            found[LABEL] = (1 - weight) * self.head.loss(logits[there], labels[there])
        return found | ({} if self.states is None else {STATES: self.states(batch)})


def soft_loss(logits: Tensor, targets: Tensor, learns: str, temperature: float) -> Tensor:
    """The loss of logits against what `softened` gives, `(batch, items, n)`, summed over the items that have a target.

    Logits are `(batch, items, n)`, or `(batch, n, items)` as of a span's start and end, or of one item or one number
    each, without that axis.

    Of classes the Kullback-Leibler divergence, of flags the binary cross-entropy above its least, of numbers the
    squared error.
    """
    by_item = logits.ndim < 3 or logits.shape == targets.shape
    logits = logits.reshape(targets.shape) if by_item else logits.transpose(1, 2)
    there = targets != IGNORED
    wanted = targets.where(there, torch.zeros_like(targets))
    if learns == "number":
        return functional.mse_loss(logits.where(there, wanted), wanted, reduction="sum")
    cooled = logits.float().masked_fill(~there, IMPOSSIBLE) / temperature
    if learns == "flags":
        known = torch.stack([wanted, 1 - wanted], -1)
        guessed = torch.stack([functional.logsigmoid(cooled), functional.logsigmoid(-cooled)], -1)
        there = there.unsqueeze(-1)
    else:
        known, guessed = wanted, cooled.log_softmax(-1)
    apart: Tensor = torch.special.xlogy(known, known) - known * guessed
    return temperature**2 * apart.where(there, 0.0).sum()


def has_label(labels: Tensor) -> Tensor:
    """Which rows of a batch have a label, `(batch,)`."""
    if labels.is_floating_point() and labels.ndim == 1:
        return ~labels.isnan()
    return (labels != IGNORED).reshape(len(labels), -1).any(1)
