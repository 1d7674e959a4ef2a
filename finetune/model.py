"""Backbone, Head and Model: BERT gives a vector a token and one a sequence, and a head reads one of the two."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from finetune import cpu
from finetune.errors import UserError, first_line
from finetune.families import set_dropout, takes_segments
from finetune.first_token import last_layer_for_first_token


class Backbone(nn.Module):
    """A pretrained encoder, always in fp32."""

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder

    @property
    def config(self) -> PretrainedConfig:
        """The encoder's configuration: its family is `model_type`, its width `hidden_size`."""
        return self.encoder.config

    def forward(self, *, pooled: bool, **inputs: Tensor | None) -> Tensor:
        """The sequence output `(batch, length, width)`, or the pooled output `(batch, width)`.

        Pooled is the pretrained pooler's output where this backbone keeps one, else the first token's vector.
        """
        if not takes_segments(self.config):
            inputs = inputs | {"token_type_ids": None}
        output = self.encoder(**{name: value for name, value in inputs.items() if value is not None})
        if not pooled:
            return output.last_hidden_state  # type: ignore[no-any-return]
        first: Tensor | None = getattr(output, "pooler_output", None)
        return output.last_hidden_state[:, 0] if first is None else first

    def drop_pooler(self) -> None:
        """Removes a pretrained pooler that no head reads; unused weights stop distributed training."""
        if getattr(self.encoder, "pooler", None) is not None:
            self.encoder.pooler = None


class Head(nn.Module):
    """The few layers on top of one of the two outputs (Devlin et al. 2019, Figure 4).

    `reads` says which output; `auto_class` names transformers' class that loads what is saved, in which this head's
    parameters are called as `checkpoint_names` says (ours -> theirs); `labels` are the names of the logits, if any.
    """

    reads: ClassVar[Literal["pooled", "sequence"]]
    auto_class: ClassVar[str]
    output: nn.Linear

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.labels = tuple(labels)
        self.checkpoint_names: dict[str, str] = {"output": "classifier"}
        self.uses_pooler = False

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Logits `(batch, n)` of the pooled output `(batch, width)`, or `(batch, length, n)` of the sequence output.

        `mask` `(batch, length)` is 0 at padding.
        """
        raise NotImplementedError

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss summed over all labels that are not ignored; the trainer divides by their number."""
        raise NotImplementedError

    def config_settings(self) -> dict[str, Any]:
        """What a saved checkpoint's config says of this head."""
        return {
            "id2label": dict(enumerate(self.labels)),
            "label2id": {label: index for index, label in enumerate(self.labels)},
        }

    def initialise(self) -> None:
        """New weights as in the original code: normal 0.02 truncated at two deviations, biases 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
                nn.init.zeros_(module.bias)

    def to_checkpoint(self) -> dict[str, Tensor]:
        """Parameters by the names that transformers gives them."""
        return {self._checkpoint_name(name): tensor for name, tensor in self.state_dict().items()}

    def from_checkpoint(self, state: dict[str, Tensor]) -> None:
        """Takes the parameters from a checkpoint of transformers."""
        self.load_state_dict({name: state[self._checkpoint_name(name)] for name in self.state_dict()})

    def _checkpoint_name(self, name: str) -> str:
        layer, _, parameter = name.rpartition(".")
        return f"{self.checkpoint_names[layer]}.{parameter}"


HeadFor = Callable[[Backbone], Head]


class Model(nn.Module):
    """A backbone and a head."""

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        if not head.uses_pooler:
            backbone.drop_pooler()
        if head.reads == "pooled":
            last_layer_for_first_token(backbone.encoder)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        counts: Tensor | None = None,
    ) -> Tensor:
        """Logits of a batch, see `Head.forward`; with `counts` `(batch,)` those of each feature's choices in a row,
        `(batch, most choices)`, where a feature with fewer has minus infinity.
        """
        hidden = self.backbone(
            pooled=self.head.reads == "pooled",
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
        )
        logits: Tensor = self.head(hidden, attention_mask)
        return logits if counts is None else _by_feature(logits.squeeze(-1), counts)


def load_backbone(folder: Path, *, dropout: float | None = None) -> tuple[Backbone, list[str]]:
    """A pretrained encoder from a folder, and the names of weights that the checkpoint lacks (new, by torch's seed).

    Raises UserError for a folder without a readable config or weights in safetensors.
    """
    config = load_config(folder)
    if dropout is not None:
        set_dropout(config, dropout)
    encoder, info = _from_pretrained(AutoModel, folder, config=config)
    return Backbone(encoder), sorted(info["missing_keys"])


def build_model(
    folder: Path, head_for: HeadFor, *, init_seed: int, device: torch.device, dropout: float | None = None
) -> tuple[Model, list[str]]:
    """A pretrained encoder with a new head, and the names of the encoder's weights that are new.

    Raises UserError for a folder without a readable encoder, or of a family that the head does not know.
    """
    torch.manual_seed(init_seed)
    backbone, new = load_backbone(folder, dropout=dropout)
    model = Model(backbone, head_for(backbone))
    model.head.initialise()
    if device.type == "cpu":
        cpu.speed_up(model, backbone.encoder)
    kept = backbone.encoder.state_dict().keys()
    return model, [name for name in new if name in kept]


def empty_model(config: PretrainedConfig, head_for: HeadFor) -> Model:
    """A model without memory behind its weights. Raises UserError for a family that the head does not know."""
    backbone = Backbone(_shell(AutoModel, config))
    return Model(backbone, head_for(backbone))


def load_trained(folder: Path, head_for: HeadFor) -> Model:
    """A fine-tuned checkpoint of transformers, ours or another's, as a Model.

    Raises UserError where it holds no trained head of the wanted kind.
    """
    config = load_config(folder)
    probe = empty_model(config, head_for).head
    shell, info = _from_pretrained(getattr(transformers, probe.auto_class), folder, config=config)
    backbone = Backbone(shell.base_model)
    head = head_for(backbone)
    if missing := sorted(info["missing_keys"]):
        raise UserError(
            f"{folder}: holds no fully trained model ({', '.join(missing)} missing)",
            "Train one with `finetune run`, or name a fine-tuned checkpoint",
        )
    kind = probe.auto_class.removeprefix("AutoModel")
    if not any(name.endswith(kind) for name in config.architectures or [kind]):
        raise UserError(
            f"{folder}: is a model of the kind {', '.join(config.architectures)}, and the task needs one {kind}",
            "Evaluate it on the task that it was trained for",
        )
    head.from_checkpoint(_in_order(shell.state_dict(), head, config, folder))
    return Model(backbone, head)


def save_checkpoint(model: Model, folder: Path, tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]) -> None:
    """Writes config, safetensors and tokenizer that the head's `AutoModelFor...` class loads with the same logits.

    `settings` is what predicting with it needs, such as task and max_length; they are the config's `finetune`.
    """
    config = model.backbone.config.__class__.from_dict(model.backbone.config.to_dict())
    config.update(model.head.config_settings() | {"finetune": settings})
    shell = _shell(getattr(transformers, model.head.auto_class), config)
    state = {
        f"{shell.base_model_prefix}.{name}": tensor for name, tensor in model.backbone.encoder.state_dict().items()
    }
    shell.load_state_dict(state | model.head.to_checkpoint(), strict=True, assign=True)
    shell.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def load_config(folder: Path) -> PretrainedConfig:
    """The encoder's configuration. Raises UserError where there is none."""
    try:
        return AutoConfig.from_pretrained(folder)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{folder}: holds no model that transformers knows ({first_line(error)})",
            "A model folder has config.json, model.safetensors and the tokenizer's files",
        ) from error


def _from_pretrained(kind: Any, folder: Path, *, config: PretrainedConfig) -> tuple[PreTrainedModel, dict[str, Any]]:
    try:
        model, info = kind.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,  # else the checkpoint's own, which may be half precision
            use_safetensors=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{folder}: the weights cannot be loaded ({first_line(error)})",
            "The folder needs a complete model.safetensors",
        ) from error
    return model, info


def _shell(kind: Any, config: PretrainedConfig) -> PreTrainedModel:
    """A model without memory behind its weights, for its names and its way of saving."""
    with torch.device("meta"):
        return kind.from_config(config)


def _by_feature(logits: Tensor, counts: Tensor) -> Tensor:
    """`(sequences,)` to `(batch, most choices)`."""
    there = torch.arange(int(counts.max()), device=counts.device) < counts.unsqueeze(1)
    return logits.new_full(there.shape, -torch.inf).masked_scatter(there, logits)


def _in_order(state: dict[str, Tensor], head: Head, config: PretrainedConfig, folder: Path) -> dict[str, Tensor]:
    """The state with the output layer's rows in the order of the head's labels; checkpoints order them variously."""
    if not head.labels:
        return state
    theirs = [str(config.id2label[index]) for index in range(len(config.id2label))]
    ours = list(head.labels)
    if set(theirs) != set(ours):
        theirs, ours = [label.lower() for label in theirs], [label.lower() for label in ours]
    if len(theirs) != len(ours) or (set(theirs) != set(ours) and not theirs[0].startswith("label_")):
        raise UserError(
            f"{folder}: the model's labels are {', '.join(theirs)}, the task's {', '.join(ours)}",
            "Evaluate it on the task that it was trained for",
        )
    order = [theirs.index(label) if label in theirs else index for index, label in enumerate(ours)]
    output = head.checkpoint_names["output"]
    rows = {f"{output}.{part}": state[f"{output}.{part}"][order] for part in ("weight", "bias")}
    return state | rows
