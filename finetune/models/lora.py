"""LoRA (Hu et al. 2022), by peft: products of two narrow matrices are trained instead of the encoder's weights.

They are merged for prediction and saving: a saved model is an ordinary checkpoint, with the scores of its run.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from finetune.data.atomic import scratch_folder
from finetune.data.checksums import write_checksums
from finetune.errors import UserError, as_user_error
from finetune.models.families import FAMILIES
from finetune.models.head import EncoderWithHead
from finetune.runs.recipe import Recipe

NAME = "default"  # peft's name of the adapter
POOLER = "pooler"
RETRY = "Free space, and run the same command again, which resumes"
LEAVE_OUT = "Leave adapter out: the merged model is saved"


def require_peft() -> None:
    """Raises UserError where peft is not installed."""
    try:
        import peft  # noqa: F401
    except ImportError as error:
        raise UserError(
            "lora needs a package that is not installed (peft)", "Install it: pip install 'bert-finetune[lora]'"
        ) from error


def add_lora(encoder: PreTrainedModel, recipe: Recipe) -> None:
    """Adds LoRA, with new weights by torch's seed, to linear layers of an encoder, and freezes the rest but the pooler.

    Raises UserError where peft is not installed, and for layers that the encoder lacks.
    """
    require_peft()
    from peft import inject_adapter_in_model

    pooler = getattr(encoder, POOLER, None)
    inject_adapter_in_model(_config(recipe, lora_targets(encoder, recipe)), encoder)
    if pooler is not None:
        pooler.requires_grad_(True)


def lora_targets(encoder: PreTrainedModel, recipe: Recipe) -> list[str]:
    """The names of the modules that LoRA adapts: linear layers of the recipe's or the family's names, if not frozen.

    Raises UserError for a name that no linear layer has, and where all of them are frozen.
    """
    linear = {
        name: module
        for name, module in encoder.named_modules()
        if isinstance(module, nn.Linear) and name.split(".")[0] != POOLER
    }
    wanted = recipe.lora_targets or FAMILIES[encoder.config.model_type].lora_targets
    if lacking := [target for target in wanted if not any(_is_named(name, target) for name in linear)]:
        choices = dict.fromkeys(re.split(r"\.\d+\.", name)[-1] for name in linear)  # the same in all layers
        remedy = f"Choose among {', '.join(choices)}: lora_targets=[...]"
        raise UserError(f"lora_targets: this encoder has no linear layer '{lacking[0]}'", remedy)
    named = [name for name in linear if any(_is_named(name, target) for target in wanted)]
    trained = [name for name in named if linear[name].weight.requires_grad]
    if not trained:
        raise UserError(
            f"lora = {recipe.lora}: each layer {' or '.join(wanted)} is frozen, or above the layers that are read",
            "Lower freeze_layers, or read a higher layer with layers=[...]",
        )
    return trained


@contextmanager
def merged(encoder: nn.Module) -> Iterator[None]:
    """Within it LoRA is merged into an encoder's weights; afterwards they are the old ones, to the bit.

    An encoder without LoRA does not change.
    """
    layers: list[Any] = [module for module in encoder.modules() if hasattr(module, "get_delta_weight")]  # peft's
    originals = [layer.base_layer.weight.data for layer in layers]
    with torch.no_grad():
        for layer in layers:
            layer.base_layer.weight.data = layer.base_layer.weight.data + layer.get_delta_weight(NAME)
            layer.merged_adapters.append(NAME)
    try:
        yield
    finally:
        for layer, weight in zip(layers, originals, strict=True):
            layer.base_layer.weight.data = weight
            layer.merged_adapters.remove(NAME)


def merged_state(model: nn.Module) -> dict[str, Tensor]:
    """A model's state with LoRA merged, under the names of a model without it."""
    with merged(model):
        return {
            name.replace(".base_layer.", "."): tensor
            for name, tensor in model.state_dict().items()
            if ".lora_" not in name
        }


def require_adapter(model: EncoderWithHead) -> None:
    """Raises UserError where peft could not load what `save_adapter` would save."""
    if not model.head.has_class:
        kind, auto_class = model.backbone.config.model_type, model.head.auto_class
        raise UserError(f"adapter = true, and transformers has no {auto_class} for type '{kind}'", LEAVE_OUT)


def save_adapter(model: EncoderWithHead, folder: Path, recipe: Recipe, *, base: str) -> None:
    """Saves LoRA, pooler and head in peft's form, for `PeftModel.from_pretrained` on the head's `AutoModelFor...`.

    `base` is the encoder's folder or its name on the Hub. Raises UserError where the folder cannot be written.
    """
    encoder, prefix = model.backbone.encoder, model.backbone.encoder.base_model_prefix
    trained = {f"{prefix}.{name}": p for name, p in encoder.named_parameters() if p.requires_grad}
    lora = {name.replace(f".{NAME}.", "."): p for name, p in trained.items() if ".lora_" in name}
    whole = {name: p for name, p in trained.items() if ".lora_" not in name} | model.head.to_checkpoint()
    config = _config(recipe, [])
    config.target_modules = sorted({name.partition(".lora_")[0] for name in lora})  # peft would shuffle them
    config.modules_to_save = sorted({name.rpartition(".")[0] for name in whole}) or None
    config.base_model_name_or_path, config.inference_mode = base, True
    state = {f"base_model.model.{name}": tensor.detach().contiguous() for name, tensor in (lora | whole).items()}
    with as_user_error(f"{folder}: the adapter cannot be written", RETRY):
        with scratch_folder(folder) as scratch:
            config.save_pretrained(scratch)
            save_file(state, scratch / "adapter_model.safetensors", metadata={"format": "pt"})
        write_checksums(folder)


def _config(recipe: Recipe, targets: Sequence[str]) -> Any:
    from peft import LoraConfig

    return LoraConfig(
        r=recipe.lora,
        lora_alpha=recipe.lora_alpha or 2 * recipe.lora,
        lora_dropout=recipe.lora_dropout,
        target_modules=list(targets),
    )


def _is_named(module: str, target: str) -> bool:
    return f".{module}".endswith(f".{target}")
