"""Loads trained models: checkpoints in transformers' format, and models for which transformers has no class."""

from pathlib import Path

import torch
import transformers
from torch import Tensor
from transformers import AutoModel, PretrainedConfig, PreTrainedModel

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.backbone import Backbone
from finetune.models.config_bounds import REMEDY
from finetune.models.families import FAMILIES, has_own_class, require_encoder
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.head import Head
from finetune.models.lora import POOLER
from finetune.models.model import EncoderWithHead, HeadFor
from finetune.models.weight_files import from_pretrained, load_config, own_weights, reading, some


def load_trained(folder: Path, head_for: HeadFor) -> EncoderWithHead:
    """Loads a fine-tuned transformers checkpoint, or one in finetune's own format, as a Model.

    Raises UserError where it has no trained head of the required kind.
    """
    config = load_config(folder)
    if (folder / OWN_WEIGHTS).is_file():
        return _load_own(folder, config, head_for)
    probe = empty_model(config, head_for) if has_own_class(config) else None
    if probe is None or not probe.head.has_class:
        raise UserError(
            f"{folder}: fine-tuned models of type '{config.model_type}' can be loaded only if finetune saved them",
            f"Train one with `finetune run`, or name a model of type {', '.join(FAMILIES)}",
        )
    head_kind = probe.head.auto_class
    shell, info = from_pretrained(getattr(transformers, head_kind), folder, config=config)
    backbone = Backbone(shell.base_model)
    head = head_for(backbone)
    unread = () if head.uses_pooler else (f"{shell.base_model_prefix}.{POOLER}.",)
    if missing := sorted(name for name in info["missing_keys"] if not name.startswith(tuple(unread))):
        raise UserError(
            f"{folder}: does not contain a fully trained model ({some(missing)} missing)",
            "Train one with `finetune run`, or name a fine-tuned checkpoint",
        )
    kind = head_kind.removeprefix("AutoModel")
    if not any(name.endswith(kind) or name == type(shell).__name__ for name in config.architectures or [kind]):
        raise UserError(
            f"{folder}: is a {', '.join(config.architectures)} model, and the task needs {kind}",
            "Evaluate it on the task that it was trained for",
        )
    head.from_checkpoint(_in_order(shell.state_dict(), head, config, folder))
    return EncoderWithHead(backbone, head)


def empty_model(config: PretrainedConfig, head_for: HeadFor) -> EncoderWithHead:
    """A model on torch's meta device. Raises UserError for a family that the head does not support."""
    with torch.device("meta"):
        backbone = _new_backbone(config)
        return EncoderWithHead(backbone, head_for(backbone))


def load_encoder(folder: Path) -> tuple[PreTrainedModel, list[str]]:
    """The encoder of any model folder without its head, and the names of weights that it lacks, which are random.

    Raises UserError for a folder without a readable encoder.
    """
    config = load_config(folder)
    require_encoder(config)
    encoder, new = saved_encoder(folder, config)
    return encoder.eval(), new


def saved_encoder(folder: Path, config: PretrainedConfig) -> tuple[PreTrainedModel, list[str]]:
    """The encoder of a model folder in either format, and the names of weights that it lacks."""
    if not (folder / OWN_WEIGHTS).is_file():
        encoder, info = from_pretrained(AutoModel, folder, config=config)
        return encoder, sorted(info["missing_keys"])
    encoder = _new_backbone(config).encoder.requires_grad_(True)  # that run may have frozen layers
    prefix = "backbone.encoder."
    state = {
        name.removeprefix(prefix): tensor for name, tensor in own_weights(folder).items() if name.startswith(prefix)
    }
    return encoder, sorted(encoder.load_state_dict(state, strict=False).missing_keys)


def forget_head(config: PretrainedConfig) -> None:
    """Removes what a run saved of its head: labels, the kind of problem, and how it was read."""
    if getattr(config, "finetune", None) is not None:
        del config.finetune
    if getattr(config, "classifier_pooling", "") == "late":
        config.classifier_pooling = "mean"  # of the vectors, not of the tokens' logits
    config.problem_type = config.id2label = None
    config.num_labels = 2  # transformers' default, with names that it makes


def _load_own(folder: Path, config: PretrainedConfig, head_for: HeadFor) -> EncoderWithHead:
    backbone = _new_backbone(config)
    backbone.has_row = False  # else the model had been saved under the names of its family
    model = EncoderWithHead(backbone, head_for(backbone))
    state = own_weights(folder)
    if model.head.pretrains:  # a pooler is kept for the task that follows
        state = {name: tensor for name, tensor in state.items() if not name.startswith(f"backbone.encoder.{POOLER}.")}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise UserError(
            f"{folder / OWN_WEIGHTS}: the weights cannot be loaded ({first_line(error)})", "Train it again with `force`"
        ) from error
    return model


def _new_backbone(config: PretrainedConfig) -> Backbone:
    """A random encoder, read as its run did. Raises UserError for a config that makes none."""
    try:
        encoder = AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
        return Backbone(encoder, **reading(config))
    except UserError:
        raise
    except THEIRS:
        raise
    except Exception as error:  # values that do not fit together make transformers fail in any way
        raise UserError(f"config.json makes no '{config.model_type}' encoder ({first_line(error)})", REMEDY) from error


def _in_order(state: dict[str, Tensor], head: Head, config: PretrainedConfig, folder: Path) -> dict[str, Tensor]:
    """The state with the output layer's rows in the order of the head's labels, which checkpoints may not have."""
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
