"""Builds the model of a recipe: a pretrained encoder with a new head."""

from collections.abc import Sequence
from pathlib import Path

import torch
import transformers
from transformers import PretrainedConfig, PreTrainedModel

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.device import resolve_precision
from finetune.models.families import has_own_class, is_left_to_right, require_encoder, set_dropout
from finetune.models.fast_paths import freeze_unreached, take_fast_paths
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.freezing import leave_out_layers, set_trainable
from finetune.models.kernels.dropout import repeatable
from finetune.models.loading import forget_head, saved_encoder
from finetune.models.lora import POOLER, add_lora, require_adapter
from finetune.models.model import EncoderWithHead, HeadFor
from finetune.models.tokenizers.added_tokens import grow_embeddings
from finetune.models.untrained import is_untrained, untrained_encoder, without_dropout
from finetune.models.weight_files import from_pretrained, load_config, some
from finetune.runs.recipe import Recipe


def load_backbone(folder: Path, recipe: Recipe) -> tuple[Backbone, list[str]]:
    """A pretrained encoder from a folder, and the names of weights missing from the checkpoint (new, by torch's seed).

    Raises UserError for a folder without a readable config or weights in safetensors, for layers that it lacks, and
    for new ones in a frozen encoder.
    """
    if recipe.frozen and recipe.reinit_layers:
        raise UserError(
            f"reinit_layers = {recipe.reinit_layers} with frozen = true: the new layers would stay random",
            "Leave one of them out",
        )
    config = load_config(folder)
    require_encoder(config)
    if recipe.train.dropout is not None:
        set_dropout(config, recipe.train.dropout)
    encoder, new = _encoder(folder, config, recipe)
    forget_head(encoder.config)
    leave_out_layers(encoder, keep=recipe.keep_layers)
    set_trainable(encoder, freeze=recipe.freeze_layers, reinit=recipe.reinit_layers)
    backbone = Backbone(
        encoder,
        layers=recipe.layers,
        bilstm=recipe.bilstm,
        pooling=recipe.pooling,
        frozen=recipe.frozen,
        linear_only=recipe.train.solver == "logistic",
    )
    return backbone, new


def _encoder(folder: Path, config: PretrainedConfig, recipe: Recipe) -> tuple[PreTrainedModel, list[str]]:
    """The encoder, and the names of its weights that are new; of an untrained one, those of its parts."""
    if is_untrained(folder):
        encoder = untrained_encoder(config, recipe)
        return encoder, [name for name, _ in encoder.named_children()]
    return saved_encoder(folder, config)


def build_model(
    folder: Path, head_for: HeadFor, recipe: Recipe, *, device: torch.device, tokens: Sequence[str] = ()
) -> tuple[EncoderWithHead, list[str]]:
    """A pretrained encoder with a new head, and the names of the encoder's weights that are new.

    Its embeddings grow by those of `tokens` that its tokenizer lacks. A head for pre-training is the checkpoint's own;
    where that has none, its weights are among those that are new.
    Raises UserError for a folder without a readable encoder, of a family that the head does not support, or where the
    head would read new weights of a frozen encoder.
    """
    torch.manual_seed(recipe.seeds[0])
    backbone, new = load_backbone(folder, recipe)
    if grow_embeddings(backbone.encoder, folder, tokens) and recipe.adapter:
        raise UserError(
            "adapter = true: an adapter has no vectors of new tokens, such as the markers of spans",
            "Leave adapter out: the merged model is saved",
        )
    pooler = getattr(backbone.encoder, POOLER, None)
    untrained = is_untrained(folder) or any(name.startswith(POOLER) for name in new)
    model = EncoderWithHead(backbone, head_for(backbone))
    if recipe.pooling != "family" and not model.pooled:
        raise UserError(f"pooling = '{recipe.pooling}', and this task's head reads each token", "Leave pooling out")
    model.head.initialise()
    new = _that_are_kept(new, backbone.encoder)
    if new and recipe.frozen:
        raise UserError(
            f"{folder}: lacks {some(new)}, which would stay random in a frozen encoder",
            f"layers=[{backbone.config.num_hidden_layers}] reads the last layer through a new one that is trained",
        )
    freeze_unreached(model)
    if recipe.lora:
        _add_lora(model, recipe, [name for name in new if not name.startswith(f"{POOLER}.")], folder)
    if model.head.pretrains:
        new += load_head(model, folder)
        if pooler is not None and not untrained and not model.head.uses_pooler and not backbone.left_to_right:
            backbone.encoder.pooler = pooler.requires_grad_(False)  # saved as it is, for the task that follows
        if is_untrained(folder) and recipe.train.dropout is None:
            without_dropout(model)
    model.notes = take_fast_paths(model, device=device, precision=resolve_precision(recipe.train.precision, device))
    if recipe.train.gradient_checkpointing:
        checkpoint_gradients(backbone.encoder)
    model.notes += _format_notes(model, recipe)
    return model, new


def _format_notes(model: EncoderWithHead, recipe: Recipe) -> list[str]:
    """A note where transformers has classes for a family, but none for this head."""
    config = model.backbone.config
    own = recipe.layers != "last" or recipe.bilstm or recipe.pooling != "family" or is_left_to_right(config)
    if model.head.has_class or own or not has_own_class(config):
        return []  # what the user asked for, or noted elsewhere
    return [
        f"transformers has no {model.head.auto_class} that computes the same for type '{config.model_type}': the "
        "model is saved in a format that only finetune loads"
    ]


def _that_are_kept(names: Sequence[str], encoder: PreTrainedModel) -> list[str]:
    """Those of some names that are still weights of an encoder, or parts with weights."""
    kept = tuple(f"{name}." for name in encoder.state_dict())
    return [name for name in names if any(each.startswith(f"{name}.") for each in kept)]


def _add_lora(model: EncoderWithHead, recipe: Recipe, new: Sequence[str], folder: Path) -> None:
    """Adds LoRA to a model's encoder. Raises UserError for `new` weights in it, which would stay random."""
    if new:
        raise UserError(f"{folder}: lacks {some(new)}, which would stay random below LoRA", "Leave lora out")
    if recipe.adapter:
        require_adapter(model)
    add_lora(model.backbone.encoder, recipe)


def load_head(model: EncoderWithHead, folder: Path) -> list[str]:
    """Loads the weights of a model's head that a checkpoint has; the names of the others, which stay new.

    One in finetune's own format has a head for a task that was fine-tuned, and none for pre-training; nor has one for
    which transformers has no class.
    """
    own = model.head.to_checkpoint()
    if is_untrained(folder) or (folder / OWN_WEIGHTS).is_file() or not model.head.has_class:
        return sorted(own)
    shell, info = from_pretrained(getattr(transformers, model.head.auto_class), folder, config=model.backbone.config)
    new = set(info["missing_keys"]) & own.keys()
    found = {name: tensor for name, tensor in shell.state_dict().items() if name not in new}
    model.head.from_checkpoint(own | found)
    return sorted(new)


def checkpoint_gradients(encoder: PreTrainedModel) -> None:
    """Turns gradient checkpointing on; it has an effect in training only.

    Raises UserError for an encoder of a type for which transformers cannot.
    """
    again = {"use_reentrant": False, "context_fn": repeatable}
    try:
        encoder.activation_checkpointing_enable(again)
    except ValueError as error:
        raise UserError(
            f"train.gradient_checkpointing: transformers has none for encoders of type '{encoder.config.model_type}'",
            "Leave it out, and raise train.accumulation or lower train.batch_size to save memory",
        ) from error
    encoder.disable_input_require_grads()  # they are for the other way, and would go through frozen layers
