"""Saves models in transformers' format, and in one of finetune where transformers has no class."""

from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from transformers import PreTrainedTokenizerBase

from finetune.data.atomic import scratch_folder
from finetune.data.checksums import write_checksums
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.families import has_own_class
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.lora import POOLER, merged_state
from finetune.models.model import EncoderWithHead
from finetune.models.tokenizers.fingerprint import forget_use
from finetune.models.weight_files import some


def save_checkpoint(
    model: EncoderWithHead, folder: Path, tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]
) -> None:
    """Saves config, safetensors, tokenizer and checksums; the head's `AutoModelFor...` class gives the same logits.

    LoRA is merged. `settings` are those for prediction, such as task and max_length; they become the config's
    `finetune`. For a model with a layer mix, or of a family without a row in `families`, there is no such class: only
    `load_trained` loads it.
    Raises UserError where the folder cannot be written.
    """
    try:
        with scratch_folder(folder) as scratch:
            _save(model, scratch, settings)
            forget_use(tokenizer)
            tokenizer.save_pretrained(scratch)
        write_checksums(folder)
    except THEIRS:
        raise
    except Exception as error:  # tokenizers raises nothing more specific where it cannot write
        raise UserError(
            f"{folder}: the model cannot be written ({first_line(error)})",
            "Free space, and run the same command again, which resumes",
        ) from error


def _save(model: EncoderWithHead, folder: Path, settings: dict[str, Any]) -> None:
    config = model.backbone.config.__class__.from_dict(model.backbone.config.to_dict())
    config.update(model.head.config_settings() | {"finetune": settings})
    if not _has_class(model):
        config.save_pretrained(folder)
        save_file({name: t.contiguous() for name, t in merged_state(model).items()}, folder / OWN_WEIGHTS)
        return
    with torch.device("meta"):  # for its parameter names and its saving
        shell = getattr(transformers, model.head.auto_class).from_config(config, trust_remote_code=False)
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
