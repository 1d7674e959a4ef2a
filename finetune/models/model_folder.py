"""A model's folder: reads its config and weights, of a class of transformers or with a head of our own."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel

from finetune.data.messages import first_of
from finetune.data.paths import read_small
from finetune.errors import UserError, as_user_error
from finetune.models.backbone import Backbone
from finetune.models.families import FAMILIES, is_left_to_right, require_encoder
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.folder_checks import FIXED, REMEDY, require_config, saved_settings
from finetune.models.head import EncoderWithHead, Head, HeadFor
from finetune.models.lora import POOLER
from finetune.runs.recipe import Recipe

NEW_WORDS = "lm_predictions."  # begins weights of DeBERTa-v3's head for words, unlike that of a `legacy` config
FEW_ROWS = 1_000  # training rows; with fewer, a better vector matters more than a class of transformers
WEIGHTS = "model.safetensors"
MODULES = "modules.json"  # sentence-transformers' list of a model's parts
MOST_BYTES = 1_000_000  # of modules.json
LINEAR = ("logistic", "contrastive")  # solvers of a linear head, for which the lengths of vectors are noise
CLS, MEAN, UNIT, FAMILY = "cls", "mean", "unit", "family"
WEIGHTS_SHOWN = 4  # names of weights in a message
ENCODER = "backbone.encoder."  # before the names of an encoder's weights in our modules
OWN = "finetune."  # before the names of weights in a folder that no class of transformers has


def load_config(folder: Path) -> PretrainedConfig:
    """The encoder's config; code in the folder is not run. Raises UserError for one that cannot be loaded."""
    require_config(folder)
    with as_user_error(f"{folder}: does not contain a model that transformers can load", REMEDY):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        for name, value in FIXED.items():
            setattr(config, name, value)
        if getattr(config, "legacy", False) and any(name.startswith(NEW_WORDS) for name in weight_names(folder)):
            config.legacy = False  # the published configs of DeBERTa-v3 lack it
    return config


def from_pretrained(kind: Any, folder: Path, *, config: PretrainedConfig) -> tuple[PreTrainedModel, dict[str, Any]]:
    """A model of a class of transformers in fp32, and transformers' report of loading. Raises UserError where weights
    cannot be loaded, and for a head that no class of transformers has.
    """
    if has_own_head(folder):
        raise UserError(
            f"{folder}: transformers has no class for this model {reading(config) or config.model_type}",
            "Use it with finetune.load or finetune predict, or name the encoder that it was trained from",
        )
    with as_user_error(f"{folder}: the weights cannot be loaded", "The folder needs a complete model.safetensors"):
        model, info = kind.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,  # else the checkpoint's own, which may be half precision
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    return model, info


def weight_names(folder: Path) -> Iterator[str]:
    """The names of the weights in a folder's safetensors. Raises UserError where they cannot be read."""
    for file in sorted(folder.glob("*.safetensors")):
        with as_user_error(f"{file}: cannot be read", "Restore it"), safe_open(file, framework="pt") as weights:
            yield from weights.keys()


def has_own_head(folder: Path) -> bool:
    """Whether a folder's head is none of transformers' classes."""
    return any(name.startswith((OWN, ENCODER)) for name in weight_names(folder))


def some(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    return first_of(names, WEIGHTS_SHOWN)


def reading(config: PretrainedConfig) -> dict[str, Any]:
    """The arguments of `Backbone` that a run saved in the config of its model."""
    saved = saved_settings(config)
    names = {"layers": "layers", "bilstm": "bilstm", "pooling": "pooling", "bare": "linear_only"}
    return {ours: saved[name] for name, ours in names.items() if name in saved}


def load_encoder(folder: Path) -> tuple[PreTrainedModel, list[str]]:
    """The encoder of any model folder without its head, and the names of weights that it lacks, which are random.

    Raises UserError for a folder without a readable encoder.
    """
    config = load_config(folder)
    require_encoder(config)
    encoder, new = saved_encoder(folder, config)
    return encoder.eval(), new


def saved_encoder(folder: Path, config: PretrainedConfig) -> tuple[PreTrainedModel, list[str]]:
    """The encoder of a model folder, and the names of weights that it lacks."""
    if not has_own_head(folder):
        encoder, info = from_pretrained(AutoModel, folder, config=config)
        return encoder, sorted(info["missing_keys"])
    encoder = _new_backbone(config).encoder.requires_grad_(True)  # the run may have frozen it
    weights = _own_weights(folder, encoder)
    state = {name.removeprefix(ENCODER): tensor for name, tensor in weights.items() if name.startswith(ENCODER)}
    return encoder, sorted(encoder.load_state_dict(state, strict=False).missing_keys)


def load_trained(folder: Path, head_for: HeadFor) -> EncoderWithHead:
    """The model of a fine-tuned checkpoint, of transformers or of a run.

    Raises UserError where it has no trained head of the required kind.
    """
    config = load_config(folder)
    require_encoder(config)
    if has_own_head(folder):
        return _load_own(folder, config, head_for)
    probe = empty_model(config, head_for).head
    if not probe.has_class:
        raise UserError(
            f"{folder}: such models of type '{config.model_type}' can be loaded only if finetune saved them",
            "Train one with `finetune run`",
        )
    shell, info = from_pretrained(getattr(transformers, probe.auto_class), folder, config=config)
    backbone = Backbone(shell.base_model)
    head = head_for(backbone)
    unread = () if head.uses_pooler else (f"{shell.base_model_prefix}.{POOLER}.",)
    if missing := sorted(name for name in info["missing_keys"] if not name.startswith(unread)):
        raise UserError(
            f"{folder}: does not contain a fully trained model ({some(missing)} missing)",
            "Train one with `finetune run`, or name a fine-tuned checkpoint",
        )
    kind = head.auto_class.removeprefix("AutoModel")
    if not any(name.endswith(kind) or name == type(shell).__name__ for name in config.architectures or [kind]):
        raise UserError(
            f"{folder}: is a {', '.join(config.architectures)} model, and the task needs {kind}",
            "Evaluate it on the task that it was trained for",
        )
    head.from_checkpoint(_in_order(shell.state_dict(), head, config, folder))
    return EncoderWithHead(backbone, head)


def empty_model(config: PretrainedConfig, head_for: HeadFor) -> EncoderWithHead:
    """A model without weights, on torch's meta device. Raises UserError for a family that the head does not support."""
    with torch.device("meta"):
        backbone = _new_backbone(config)
        return EncoderWithHead(backbone, head_for(backbone))


def forget_head(config: PretrainedConfig) -> None:
    """Removes a head's settings from a config: labels, kind of problem, pooling."""
    if getattr(config, "finetune", None) is not None:
        del config.finetune
    if getattr(config, "classifier_pooling", "") == "late":
        config.classifier_pooling = "mean"  # of the vectors, not of the tokens' logits
    config.problem_type = config.id2label = None
    config.num_labels = 2  # transformers' default, with names that it makes


def _load_own(folder: Path, config: PretrainedConfig, head_for: HeadFor) -> EncoderWithHead:
    backbone = _new_backbone(config)
    backbone.has_row = False  # models of a family's own layers are saved as transformers' class
    model = EncoderWithHead(backbone, head_for(backbone))
    with as_user_error(f"{folder}: the weights cannot be loaded", "Train it again with `force`"):
        state = _own_weights(folder, backbone.encoder)
        if model.head.pretrains:  # its pooler, which this head does not read, is for a later task
            state = {name: tensor for name, tensor in state.items() if not name.startswith(f"{ENCODER}{POOLER}.")}
        model.load_state_dict(state)
    return model


def _own_weights(folder: Path, encoder: PreTrainedModel) -> dict[str, Tensor]:
    """The weights of a folder with a head of our own, by the names of our modules."""
    if (folder / OWN_WEIGHTS).is_file():  # as version 0.1 saved them
        return load_file(folder / OWN_WEIGHTS)
    state, prefix = load_file(folder / WEIGHTS), f"{encoder.base_model_prefix}."
    ours = {name.removeprefix(OWN): tensor for name, tensor in state.items() if name.startswith(OWN)}
    return ours | {f"{ENCODER}{n.removeprefix(prefix)}": t for n, t in state.items() if n.startswith(prefix)}


def _new_backbone(config: PretrainedConfig) -> Backbone:
    with as_user_error(f"config.json makes no '{config.model_type}' encoder", REMEDY):
        encoder = AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
        return Backbone(encoder, **reading(config))


def _in_order(state: dict[str, Tensor], head: Head, config: PretrainedConfig, folder: Path) -> dict[str, Tensor]:
    """The state with the rows of the output layer in the order of the head's labels, which a checkpoint may lack."""
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
    rows = [f"{head.checkpoint_names['output']}.{part}" for part in ("weight", "bias")]
    return state | {name: state[name][order] for name in rows}


def fitting_pooling(recipe: Recipe, folder: Path, config: PretrainedConfig, *, rows: int, pooled: bool = True) -> str:
    """A recipe's `pooling`, with `auto` resolved for so many training `rows`; `pooled`: the head reads a text's vector.

    Few rows teach a head only if its input already tells texts apart, as the vector does that the encoder was trained
    with. With many rows the family's vector scores the same, and transformers has a class for it. `keep_labels` keeps
    the vector of the old head.
    """
    if recipe.pooling != "auto":
        return recipe.pooling
    if recipe.keep_labels:
        return str(saved_settings(config).get("pooling", FAMILY))
    many_rows = rows >= FEW_ROWS and not recipe.frozen
    if many_rows or not pooled or recipe.bilstm or recipe.layers != "last" or recipe.adapter:
        return FAMILY
    pooling = trained_pooling(folder, config)
    return UNIT if pooling == MEAN and recipe.train.solver in LINEAR else pooling


def trained_pooling(folder: Path, config: PretrainedConfig) -> str:
    """The pooling that an encoder was trained with; the mean where it has no pretrained pooler."""
    if is_left_to_right(config):
        return FAMILY  # the last token's
    if (saved := str(saved_settings(config).get("pooling", ""))) or (saved := _sentence_transformers(folder)):
        return saved
    pools = FAMILIES[config.model_type].sentence.dense is None
    return FAMILY if pools and any(f"{POOLER}." in name for name in weight_names(folder)) else MEAN


def _sentence_transformers(folder: Path) -> str:
    """The pooling in a folder of sentence-transformers; empty where it has none, or several."""
    if not (folder / MODULES).is_file():
        return ""
    with as_user_error(f"{folder / MODULES}: is not JSON of sentence-transformers", "Restore it, or set pooling=mean"):
        parts = json.loads(read_small(folder / MODULES, most=MOST_BYTES))
        paths = [part.get("path", "") for part in parts if str(part.get("type")).endswith(".Pooling")]
        if len(paths) != 1 or Path(paths[0]).name != paths[0]:
            return ""
        settings = json.loads(read_small(folder / paths[0] / "config.json", most=MOST_BYTES))
    named = [name for name, mode in ((CLS, "cls_token"), (MEAN, "mean_tokens")) if settings.get(f"pooling_mode_{mode}")]
    return named[0] if len(named) == 1 else str(settings.get("pooling_mode", "")) * (not named)
