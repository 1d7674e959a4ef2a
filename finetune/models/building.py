"""Builds the model of a recipe: a pretrained encoder, or one with new weights, with a new head."""

from collections.abc import Sequence
from pathlib import Path

import torch
import transformers
from torch import nn
from transformers import AutoModel, PretrainedConfig, PreTrainedModel

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.encoder_size import is_untrained
from finetune.models.families import require_encoder, set_dropout
from finetune.models.fast_paths import freeze_unreached, take_fast_paths
from finetune.models.freezing import leave_out_layers, reinitialise, set_trainable
from finetune.models.head import EncoderWithHead, HeadFor
from finetune.models.kernels.dropout import repeatable
from finetune.models.lora import POOLER, add_lora, require_adapter
from finetune.models.model_folder import forget_head, from_pretrained, has_own_head, load_config, saved_encoder, some
from finetune.models.saving import loads_elsewhere
from finetune.models.tokenizers.load import add_tokens, load_tokenizer
from finetune.runs.recipe import Recipe


def load_backbone(folder: Path, recipe: Recipe) -> tuple[Backbone, list[str]]:
    """The encoder in a folder, and the names of weights that the checkpoint lacks, which are new by torch's seed; of an
    untrained encoder, the names of its parts.

    Raises UserError for a folder without a readable config or weights in safetensors, for layers that the encoder
    lacks, and for new layers in a frozen encoder.
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
    if is_untrained(folder):
        encoder = untrained_encoder(config, recipe)
        new = [name for name, _ in encoder.named_children()]
    else:
        encoder, new = saved_encoder(folder, config)
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


def untrained_encoder(config: PretrainedConfig, recipe: Recipe) -> PreTrainedModel:
    """An encoder with new weights by `init_seed`: normal, truncated at two deviations, as in the original code.

    The deviation is 0.02 at BERT base's width, and larger in a narrower encoder, whose sums have fewer terms. Raises
    UserError for settings that would leave weights random.
    """
    for name in ("frozen", "lora", "freeze_layers"):
        if getattr(recipe, name):
            raise UserError(
                f"{name} with model '{recipe.model}': its weights are random, and would stay so", f"Leave {name} out"
            )
    encoder: PreTrainedModel = AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
    torch.manual_seed(recipe.seeds[0])
    reinitialise(encoder, spread=config.initializer_range)
    return encoder


def build_model(
    folder: Path, head_for: HeadFor, recipe: Recipe, *, device: torch.device, tokens: Sequence[str] = ()
) -> tuple[EncoderWithHead, list[str]]:
    """A pretrained encoder with a head, and the names of weights that are new though a checkpoint could have them.

    The embeddings grow by the `tokens` that the tokenizer lacks. A head for pre-training is loaded from the checkpoint,
    any other is new. Raises UserError for a folder without a readable encoder, for a family that the head does not
    support, and where the head would read new weights of a frozen encoder.
    """
    torch.manual_seed(recipe.seeds[0])
    backbone, new = load_backbone(folder, recipe)
    if tokens and _grow_embeddings(backbone.encoder, folder, tokens) and recipe.adapter:
        raise UserError(
            "adapter = true: an adapter has no vectors of new tokens, such as the markers of spans",
            "Leave adapter out: the merged model is saved",
        )
    pooler = getattr(backbone.encoder, POOLER, None)
    new_pooler = is_untrained(folder) or any(name.startswith(POOLER) for name in new)
    model = EncoderWithHead(backbone, head_for(backbone))
    if recipe.pooling != "family" and not model.pooled:
        raise UserError(f"pooling = '{recipe.pooling}', and this task's head reads each token", "Leave pooling out")
    model.head.initialise()
    weights = tuple(f"{name}." for name in backbone.encoder.state_dict())  # without a pooler that no head reads
    new = [name for name in new if any(weight.startswith(f"{name}.") for weight in weights)]
    if new and recipe.frozen:
        raise UserError(
            f"{folder}: lacks {some(new)}, which would stay random in a frozen encoder",
            f"layers=[{backbone.config.num_hidden_layers}] reads the last layer through a new one that is trained",
        )
    freeze_unreached(model)
    if recipe.lora:
        if random := [name for name in new if not name.startswith(f"{POOLER}.")]:
            raise UserError(f"{folder}: lacks {some(random)}, which would stay random below LoRA", "Leave lora out")
        if recipe.adapter:
            require_adapter(model)
        add_lora(backbone.encoder, recipe)
    if model.head.pretrains:
        new += _load_head(model, folder)
        if pooler is not None and not new_pooler and not model.head.uses_pooler and not backbone.left_to_right:
            backbone.encoder.pooler = pooler.requires_grad_(False)  # saved unchanged, for a later task
        if is_untrained(folder) and recipe.train.dropout is None:  # the dropout in its config is for fine-tuning
            for module in model.modules():
                if isinstance(module, nn.Dropout):
                    module.p = 0.0
    model.notes = take_fast_paths(model, device=device)
    if recipe.train.gradient_checkpointing:
        checkpoint_gradients(backbone.encoder)
    chosen = recipe.layers != "last" or recipe.bilstm or backbone.left_to_right
    if not loads_elsewhere(model) and not chosen:  # a user who chose these expects it
        model.notes.append(
            f"transformers has no {model.head.auto_class} that computes the same for type "
            f"'{backbone.config.model_type}': only finetune loads the model"
        )
    return model, new


def _grow_embeddings(encoder: PreTrainedModel, folder: Path, tokens: Sequence[str]) -> list[str]:
    """Gives each token that the tokenizer lacks a vector near the mean of its pieces; returns these tokens.

    So they mean something in frozen embeddings too. Noise, by torch's seed, tells tokens of the same pieces apart.
    """
    tokenizer, grown = load_tokenizer(folder), load_tokenizer(folder)
    new = add_tokens(grown, tokens)
    if not new:
        return []
    encoder.resize_token_embeddings(max(len(grown), encoder.config.vocab_size), mean_resizing=False)
    vectors = encoder.get_input_embeddings().weight
    spread = getattr(encoder.config, "initializer_range", 0.02)
    with torch.no_grad():
        for token in new:
            mean = vectors[tokenizer(token, add_special_tokens=False)["input_ids"]].mean(0)
            vectors[grown.convert_tokens_to_ids(token)] = mean + spread * torch.randn_like(mean)
    return new


def _load_head(model: EncoderWithHead, folder: Path) -> list[str]:
    """Loads a head for pre-training from a checkpoint; returns the names of the weights that it lacks, which are new.

    Checkpoints with a head of our own, and of families without a class in transformers, have no such head.
    """
    state = model.head.to_checkpoint()
    if is_untrained(folder) or has_own_head(folder) or not model.head.has_class:
        return sorted(state)
    shell, info = from_pretrained(getattr(transformers, model.head.auto_class), folder, config=model.backbone.config)
    new = set(info["missing_keys"]) & state.keys()
    model.head.from_checkpoint(state | {name: t for name, t in shell.state_dict().items() if name not in new})
    return sorted(new)


def checkpoint_gradients(encoder: PreTrainedModel) -> None:
    """Turns gradient checkpointing on, which acts in training alone.

    Raises UserError for a type of encoder for which transformers has none.
    """
    try:
        encoder.activation_checkpointing_enable({"use_reentrant": False, "context_fn": repeatable})
    except ValueError as error:
        raise UserError(
            f"train.gradient_checkpointing: transformers has none for encoders of type '{encoder.config.model_type}'",
            "Leave it out, and raise train.accumulation or lower train.batch_size to save memory",
        ) from error
    encoder.disable_input_require_grads()  # for reentrant checkpointing; gradients would go through frozen layers
