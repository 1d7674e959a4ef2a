"""Saves a model so that others load it: as transformers' class, or with the class that it needs."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from finetune.data.atomic import scratch_folder
from finetune.data.checksums import write_checksums
from finetune.errors import as_user_error
from finetune.models import modeling_pooled
from finetune.models.head import EncoderWithHead, Head
from finetune.models.lora import POOLER, RETRY, merged_state
from finetune.models.model_folder import CLS, ENCODER, FAMILY, MEAN, MODULES, OWN, UNIT, WEIGHTS, some
from finetune.models.tokenizers.load import forget_use

CODE = Path(modeling_pooled.__file__)
POOLINGS = {CLS: "cls", MEAN: "mean", UNIT: "mean"}  # sentence-transformers' words


def save_checkpoint(
    model: EncoderWithHead, folder: Path, tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]
) -> None:
    """Saves config, safetensors, tokenizer and checksums; the head's `AutoModelFor...` class gives the same logits.

    LoRA is merged. `settings`, such as task and max_length, are for prediction, and become `finetune` in the config.
    transformers has no class for a layer mix, the last token of a left-to-right encoder, the `pooling` of a recipe, and
    markers of spans. For `pooling` a class is saved with the model, and what sentence-transformers reads; the others
    `load_trained` alone loads. Raises UserError where the folder cannot be written.
    """
    with as_user_error(f"{folder}: the model cannot be written", RETRY):
        with scratch_folder(folder) as scratch:
            config = model.backbone.config.__class__.from_dict(model.backbone.config.to_dict())
            config.update(model.head.config_settings() | {"finetune": settings})
            if model.backbone.reader is None and model.head.has_class:
                _save_as_transformers(model, scratch, config)
            else:
                _save_own(model, scratch, config)
            forget_use(tokenizer)
            tokenizer.save_pretrained(scratch)
        write_checksums(folder)


def _save_as_transformers(model: EncoderWithHead, folder: Path, config: PretrainedConfig) -> None:
    shell = _shell(model.head, config)
    prefix = f"{shell.base_model_prefix}."
    state = _encoder_weights(model) | model.head.to_checkpoint()
    state |= {name: state[source] for name, source in (shell._tied_weights_keys or {}).items() if name not in state}
    names = shell.state_dict().keys()
    unread = {name for name in names - state.keys() if name.startswith(f"{prefix}{POOLER}.")}
    missing, _ = shell.load_state_dict({n: t for n, t in state.items() if n in names}, strict=False, assign=True)
    if lacking := sorted(set(missing) - unread):
        raise RuntimeError(f"{type(shell).__name__} has {some(lacking)}, and the model has not")
    others = {name: tensor for name, tensor in state.items() if name not in names}  # a pooler, for a later task
    read_weights = {name: tensor for name, tensor in shell.state_dict().items() if name not in unread}
    shell.save_pretrained(folder, state_dict=read_weights | others)


def _save_own(model: EncoderWithHead, folder: Path, config: PretrainedConfig) -> None:
    """The encoder under transformers' names, the rest under ours. A class of transformers that would give the head
    random weights meets an empty one, and stops.
    """
    own = {f"{OWN}{n}": tensor for n, tensor in merged_state(model).items() if not n.startswith(ENCODER)}
    with suppress(ValueError):  # no class of this family
        shell = _shell(model.head, config)
        *_, last = (name for name in shell.state_dict() if not name.startswith(f"{shell.base_model_prefix}."))
        own[last] = torch.empty(0)
    config.architectures = [type(model.backbone.encoder).__name__]
    if loads_elsewhere(model):
        if config.num_labels != model.head.output.out_features:  # of a number, or of a choice
            config.num_labels = model.head.output.out_features
        config.auto_map = {model.head.auto_class: f"{CODE.stem}.{modeling_pooled.PooledModel.__name__}"}
        shutil.copyfile(CODE, folder / CODE.name)
        if model.head.auto_class.endswith("ForSequenceClassification"):
            _save_for_sentence_transformers(model, folder, config)
    config.save_pretrained(folder)
    state = {name: tensor.contiguous() for name, tensor in (_encoder_weights(model) | own).items()}
    save_file(state, folder / WEIGHTS, metadata={"format": "pt"})


def loads_elsewhere(model: EncoderWithHead) -> bool:
    """Whether transformers loads a model: by a class of its own, or by that which is saved with it."""
    head, backbone = model.head, model.backbone
    if backbone.reader is not None or head.has_class:
        return backbone.reader is None
    replaced = type(backbone.config) in getattr(transformers, head.auto_class)._model_mapping
    linear = isinstance(getattr(head, "output", None), nn.Linear)
    return replaced and linear and model.pooled and backbone.pooling != FAMILY


def _save_for_sentence_transformers(model: EncoderWithHead, folder: Path, config: PretrainedConfig) -> None:
    """The same model as a list of sentence-transformers' modules, whose vector of a text is the logits."""
    width, output = model.backbone.width, model.head.output
    parts: dict[str, dict[str, Any]] = {"Transformer": {}}
    parts["Pooling"] = {"word_embedding_dimension": width, "pooling_mode": POOLINGS[model.backbone.pooling]}
    if model.backbone.pooling == UNIT:
        parts["Normalize"] = {}
    parts["Dense"] = {"in_features": width, "out_features": output.out_features, "bias": True}
    parts["Dense"]["activation_function"] = "torch.nn.modules.linear.Identity"
    listed = []
    for index, (name, settings) in enumerate(parts.items()):
        path = f"{index}_{name}" if index else ""
        listed.append({"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"})
        if path:
            (folder / path).mkdir()
            (folder / path / "config.json").write_text(json.dumps(settings, indent=1) + "\n")
    weights = {f"linear.{name}": tensor.contiguous() for name, tensor in output.state_dict().items()}
    save_file(weights, folder / path / WEIGHTS, metadata={"format": "pt"})
    (folder / MODULES).write_text(json.dumps(listed, indent=1) + "\n")
    length = {"max_seq_length": config.finetune.get("max_length")}
    (folder / "sentence_bert_config.json").write_text(json.dumps(length) + "\n")


def _shell(head: Head, config: PretrainedConfig) -> PreTrainedModel:
    """transformers' class of a head without weights, for its names of parameters and its way of saving."""
    with torch.device("meta"):
        return getattr(transformers, head.auto_class).from_config(config, trust_remote_code=False)


def _encoder_weights(model: EncoderWithHead) -> dict[str, Tensor]:
    encoder = model.backbone.encoder
    return {f"{encoder.base_model_prefix}.{name}": tensor for name, tensor in merged_state(encoder).items()}
