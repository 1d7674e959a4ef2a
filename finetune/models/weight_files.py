"""Reads a folder's config, and its weights: by a class of transformers, or in finetune's own format."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, PretrainedConfig, PreTrainedModel

from finetune.data.messages import first_of
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.config_bounds import FIXED, REMEDY, require_config, saved_settings
from finetune.models.fingerprint import OWN_WEIGHTS

NEW_WORDS = "lm_predictions."  # a DeBERTa's head for words in the original code, which transformers' first one was not
WEIGHTS_SHOWN = 4  # names of weights in a message


def load_config(folder: Path) -> PretrainedConfig:
    """The encoder's configuration; code in the folder is not run. Raises UserError where there is none."""
    require_config(folder)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        for name, value in FIXED.items():
            setattr(config, name, value)
        if getattr(config, "legacy", False) and any(name.startswith(NEW_WORDS) for name in weight_names(folder)):
            config.legacy = False  # as DeBERTa-v3 was published: its config does not say so
    except THEIRS:
        raise
    except Exception as error:  # a config of a wrong type makes transformers fail in any way
        raise UserError(
            f"{folder}: does not contain a model that transformers can load ({first_line(error)})", REMEDY
        ) from error
    return config


def from_pretrained(kind: Any, folder: Path, *, config: PretrainedConfig) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Loads a class of transformers in fp32; returns the model and the report of loading. Raises UserError."""
    if (folder / OWN_WEIGHTS).is_file():
        raise UserError(
            f"{folder}: is a model in finetune's own format {reading(config) or config.model_type}",
            "Use it with finetune.load or finetune predict, or name the encoder that it was trained from",
        )
    try:
        model, info = kind.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,  # else the checkpoint's own, which may be half precision
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except THEIRS:
        raise
    except Exception as error:  # damaged weights and odd configs make transformers fail in any way
        raise UserError(
            f"{folder}: the weights cannot be loaded ({first_line(error)})",
            "The folder needs a complete model.safetensors",
        ) from error
    return model, info


def own_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a model in finetune's own format. Raises UserError where they cannot be read."""
    try:
        return load_file(folder / OWN_WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{folder / OWN_WEIGHTS}: the weights cannot be loaded ({first_line(error)})", "Train it again with `force`"
        ) from error


def weight_names(folder: Path) -> Iterator[str]:
    """The names of the weights in a folder's safetensors. Raises UserError where they cannot be read."""
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, framework="pt") as weights:
                yield from weights.keys()
        except (OSError, SafetensorError) as error:
            raise UserError(f"{file}: cannot be read ({first_line(error)})", "Restore it") from error


def reading(config: PretrainedConfig) -> dict[str, Any]:
    """The arguments of `Backbone` that a run saved in its model's config."""
    saved = saved_settings(config)
    names = {"layers": "layers", "bilstm": "bilstm", "pooling": "pooling", "bare": "linear_only"}
    return {ours: saved[name] for name, ours in names.items() if name in saved}


def some(names: Sequence[str]) -> str:
    """The first of some names, and how many there are."""
    return first_of(names, WEIGHTS_SHOWN)
