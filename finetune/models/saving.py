"""Loads and saves models: pretrained encoders, fine-tuned checkpoints in transformers' format, and models with a
layer mix, for which transformers has no class.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from finetune.data.atomic import scratch_folder
from finetune.data.checksums import write_checksums
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.backbone import Backbone
from finetune.models.config_bounds import FIXED, PAIR, REMEDY, require_config
from finetune.models.decoding_head import DecodingHead
from finetune.models.device import resolve_precision
from finetune.models.encoder_decoder import generation_config, pair_config
from finetune.models.encoder_forms import fix_positions
from finetune.models.families import FAMILIES, has_own_class, is_left_to_right, require_encoder, set_dropout
from finetune.models.fast_paths import take_fast_paths
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.freezing import leave_out_layers, set_trainable
from finetune.models.gradient_checkpointing import checkpoint_gradients
from finetune.models.head import Head
from finetune.models.lora import POOLER, add_lora, merged_state, require_adapter
from finetune.models.model import EncoderWithHead, HeadFor
from finetune.models.pretrained_head import load_head
from finetune.models.tokenizers.added_tokens import grow_embeddings
from finetune.models.tokenizers.fingerprint import forget_use
from finetune.models.trial import freeze_unreached
from finetune.models.untrained import is_untrained, untrained_encoder, without_dropout
from finetune.models.weight_files import from_pretrained, own_weights, reading, some, weight_names
from finetune.runs.recipe import Recipe

NEW_WORDS = "lm_predictions."  # a DeBERTa's head for words in the original code, which transformers' first one was not


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
    require_encoder(encoder_config(config))
    if recipe.train.dropout is not None:
        set_dropout(encoder_config(config), recipe.train.dropout)
    encoder, new = _encoder(folder, config, recipe)
    fix_positions(encoder, new=False)
    _forget_head(encoder.config)
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
    return _saved_encoder(folder, config)


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
        raise UserError(
            f"pooling = '{recipe.pooling}', and this task's head reads each token, not a vector of the text",
            "Leave pooling out",
        )
    model.head.initialise()
    if isinstance(model.head, DecodingHead):
        model.head.begin(folder)
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


def empty_model(config: PretrainedConfig, head_for: HeadFor) -> EncoderWithHead:
    """A model on torch's meta device. Raises UserError for a family that the head does not support."""
    with torch.device("meta"):
        backbone = _new_backbone(config)
        return EncoderWithHead(backbone, head_for(backbone))


def load_trained(folder: Path, head_for: HeadFor) -> EncoderWithHead:
    """Loads a fine-tuned transformers checkpoint, or one in finetune's own format, as a Model.

    Raises UserError where it has no trained head of the required kind.
    """
    config = load_config(folder)
    if (folder / OWN_WEIGHTS).is_file():
        return _load_own(folder, config, head_for)
    if config.model_type == PAIR:
        return _load_pair(folder, config, head_for)
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


def _load_pair(folder: Path, config: PretrainedConfig, head_for: HeadFor) -> EncoderWithHead:
    """An encoder-decoder. Raises UserError where the task does not write texts, or weights are missing."""
    require_encoder(encoder_config(config))
    shell, info = from_pretrained(transformers.EncoderDecoderModel, folder, config=config)
    backbone = Backbone(shell.encoder)
    head = head_for(backbone)
    if not isinstance(head, DecodingHead):
        raise UserError(
            f"{folder}: is an encoder with a decoder, and the task needs {head.auto_class}",
            "Evaluate it on the task that it was trained for",
        )
    if missing := sorted(name for name in info["missing_keys"] if not name.startswith(f"encoder.{POOLER}.")):
        raise UserError(
            f"{folder}: does not contain a fully trained model ({some(missing)} missing)",
            "Train one with `finetune run`, or name a fine-tuned checkpoint",
        )
    shell.decoder.config.bos_token_id = config.decoder_start_token_id
    head.replace_decoder(shell.decoder)
    return EncoderWithHead(backbone, head)


def load_encoder(folder: Path) -> tuple[PreTrainedModel, list[str]]:
    """The encoder of any model folder without its head, and the names of weights that it lacks, which are random.

    Raises UserError for a folder without a readable encoder.
    """
    config = load_config(folder)
    require_encoder(encoder_config(config))
    encoder, new = _saved_encoder(folder, config)
    return encoder.eval(), new


def _saved_encoder(folder: Path, config: PretrainedConfig) -> tuple[PreTrainedModel, list[str]]:
    """The encoder of a model folder in either format, or with a decoder, and the names of weights that it lacks."""
    if config.model_type == PAIR:
        shell, info = from_pretrained(transformers.EncoderDecoderModel, folder, config=config)
        return shell.encoder, sorted(name.removeprefix("encoder.") for name in info["missing_keys"])
    if not (folder / OWN_WEIGHTS).is_file():
        encoder, info = from_pretrained(AutoModel, folder, config=config)
        return encoder, sorted(info["missing_keys"])
    encoder = _new_backbone(config).encoder.requires_grad_(True)  # that run may have frozen layers
    prefix = "backbone.encoder."
    state = {
        name.removeprefix(prefix): tensor for name, tensor in own_weights(folder).items() if name.startswith(prefix)
    }
    return encoder, sorted(encoder.load_state_dict(state, strict=False).missing_keys)


def _forget_head(config: PretrainedConfig) -> None:
    """Removes what a run saved of its head: labels, the kind of problem, and how it was read."""
    if getattr(config, "finetune", None) is not None:
        del config.finetune
    if getattr(config, "classifier_pooling", "") == "late":
        config.classifier_pooling = "mean"  # of the vectors, not of the tokens' logits
    config.problem_type = config.id2label = None
    config.num_labels = 2  # transformers' default, with names that it makes


def save_checkpoint(
    model: EncoderWithHead,
    folder: Path,
    tokenizer: PreTrainedTokenizerBase,
    settings: dict[str, Any],
    *,
    more: Callable[[Path], None] = lambda _: None,
) -> None:
    """Saves config, safetensors, tokenizer and checksums; the head's `AutoModelFor...` class gives the same logits.

    LoRA is merged. `settings` are those for prediction, such as task and max_length; they become the config's
    `finetune`. `more` writes other files into the folder. For a model with a layer mix, or of a family without a row in
    `families`, there is no such class: only `load_trained` loads it.
    Raises UserError where the folder cannot be written.
    """

    def save(scratch: Path) -> None:
        if isinstance(model.head, DecodingHead):
            _save_pair(model, model.head, scratch, settings)
        else:
            _save(model, scratch, settings)

    _write(folder, tokenizer, save, more)


def save_encoder(encoder: PreTrainedModel, folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """Saves an encoder without a head, which AutoModel loads, with its tokenizer and checksums.

    Raises UserError where the folder cannot be written.
    """
    config = encoder.config.__class__.from_dict(encoder.config.to_dict())
    shell = _shell(AutoModel, config)
    state = {name: tensor for name, tensor in encoder.state_dict().items() if name in shell.state_dict()}
    shell.load_state_dict(state, strict=False, assign=True)
    kept = {name: tensor for name, tensor in shell.state_dict().items() if name in state}  # a pooler may be dropped
    _write(folder, tokenizer, lambda scratch: shell.save_pretrained(scratch, state_dict=kept))


def _write(
    folder: Path,
    tokenizer: PreTrainedTokenizerBase,
    save: Callable[[Path], None],
    more: Callable[[Path], None] = lambda _: None,
) -> None:
    """Writes a model's folder whole or not at all. Raises UserError where it cannot be written."""
    try:
        with scratch_folder(folder) as scratch:
            save(scratch)
            forget_use(tokenizer)
            tokenizer.save_pretrained(scratch)
            more(scratch)
        write_checksums(folder)
    except THEIRS:
        raise
    except Exception as error:  # tokenizers raises nothing more specific where it cannot write
        raise UserError(
            f"{folder}: the model cannot be written ({first_line(error)})",
            "Free space, and run the same command again, which resumes",
        ) from error


def _save_pair(model: EncoderWithHead, head: DecodingHead, folder: Path, settings: dict[str, Any]) -> None:
    """Saves both parts, for transformers' EncoderDecoderModel; without the encoder's pooler, which nothing reads."""
    config = pair_config(model.backbone.config, head.decoder.config, finetune=settings)
    with torch.device("meta"):
        shell = transformers.EncoderDecoderModel(config)
    state = {f"encoder.{name}": tensor for name, tensor in merged_state(model.backbone.encoder).items()}
    state |= {f"decoder.{name}": tensor for name, tensor in head.decoder.state_dict().items()}
    missing, unknown = shell.load_state_dict(state, strict=False, assign=True)
    unread = {name for name in missing if name.startswith(f"encoder.{POOLER}.")}
    if lacking := sorted({*missing, *unknown} - unread):
        raise RuntimeError(f"EncoderDecoderModel and the model differ in {some(lacking)}")
    shell.generation_config = generation_config(head.decoder.config, head.generation)
    shell.save_pretrained(folder, state_dict={n: t for n, t in shell.state_dict().items() if n not in unread})


def _save(model: EncoderWithHead, folder: Path, settings: dict[str, Any]) -> None:
    config = model.backbone.config.__class__.from_dict(model.backbone.config.to_dict())
    config.update(model.head.config_settings() | {"finetune": settings})
    if not _has_class(model):
        config.save_pretrained(folder)
        left_out = tuple(f"head.{part}." for part in model.head.training_only)
        state = {name: t.contiguous() for name, t in merged_state(model).items() if not name.startswith(left_out)}
        save_file(state, folder / OWN_WEIGHTS)
        return
    shell = _shell(getattr(transformers, model.head.auto_class), config)
    encoder = merged_state(model.backbone.encoder)
    state = {f"{shell.base_model_prefix}.{name}": tensor for name, tensor in encoder.items()}
    state |= model.head.to_checkpoint()
    state |= {name: state[source] for name, source in (shell._tied_weights_keys or {}).items() if name not in state}
    own = shell.state_dict().keys()
    unread = {name for name in own - state.keys() if name.startswith(f"{shell.base_model_prefix}.{POOLER}.")}
    missing, _ = shell.load_state_dict({n: t for n, t in state.items() if n in own}, strict=False, assign=True)
    if lacking := sorted(set(missing) - unread):
        raise RuntimeError(f"{type(shell).__name__} has {some(lacking)}, and the model has not")
    beyond = {name: tensor for name, tensor in state.items() if name not in own}  # a pooler, for the next training
    kept = {name: tensor for name, tensor in shell.state_dict().items() if name not in unread}
    shell.save_pretrained(folder, state_dict=kept | beyond)


def _has_class(model: EncoderWithHead) -> bool:
    """Whether a class of transformers computes the same; none reads a layer mix, the last token of a left-to-right
    encoder, a vector that a recipe names, or the markers of spans.
    """
    backbone = model.backbone
    return backbone.reader is None and has_own_class(backbone.config) and model.head.has_class


def load_config(folder: Path) -> PretrainedConfig:
    """The encoder's configuration; code in the folder is not run. Raises UserError where there is none."""
    require_config(folder)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        for each in (config, *_parts_of(config)):
            for name, value in FIXED.items():
                setattr(each, name, value)
        if getattr(config, "legacy", False) and any(name.startswith(NEW_WORDS) for name in weight_names(folder)):
            config.legacy = False  # as DeBERTa-v3 was published: its config does not say so
    except THEIRS:
        raise
    except Exception as error:  # a config of a wrong type makes transformers fail in any way
        raise UserError(
            f"{folder}: does not contain a model that transformers can load ({first_line(error)})", REMEDY
        ) from error
    return config


def encoder_config(config: PretrainedConfig) -> PretrainedConfig:
    """The config of the encoder, of one with a decoder or of one alone."""
    return config.encoder if config.model_type == PAIR else config


def _parts_of(config: PretrainedConfig) -> list[PretrainedConfig]:
    """The configs of an encoder and a decoder that one config has; none of an encoder alone."""
    return [config.encoder, config.decoder] if config.model_type == PAIR else []


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


def _shell(kind: Any, config: PretrainedConfig) -> PreTrainedModel:
    """A transformers model on the meta device, for its parameter names and its saving."""
    with torch.device("meta"):
        return kind.from_config(config, trust_remote_code=False)


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
