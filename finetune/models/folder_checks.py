"""Checks of a model's folder, before transformers reads it and before memory is taken for weights.

A folder may be a stranger's: its config can ask for any size, name code to run, and point at other files.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finetune.data.paths import read_small, require_file
from finetune.data.records import LONGEST_TEXT
from finetune.errors import UserError, first_line
from finetune.gone import gone
from finetune.runs.recipe import WIDEST_LSTM

REMEDY = "A model folder needs config.json, model.safetensors and the tokenizer's files, as save_pretrained writes them"
LAYERS = ("num_hidden_layers", "n_layers", "num_attention_heads", "n_heads", "num_hidden_groups", "inner_group_num")
LIMITS: dict[str, tuple[int, int]] = {  # the least and the most of whole numbers
    # Many thin layers ask for little memory, and take long to build.
    **dict.fromkeys(LAYERS, (1, 1_024)),
    "num_hidden_layers": (0, 1_024),  # an encoder without layers is its embeddings
    "num_labels": (0, 1_000_000),  # transformers makes a name for each
    "pad_token_id": (0, 1_000_000),
    "max_length": (1, 10_000_000),
    "bilstm": (0, WIDEST_LSTM),
}
FIXED: dict[str, Any] = {  # settings for other uses: attention from the Hub, outputs that are not tensors
    "_attn_implementation": None,
    "_experts_implementation": None,
    "transformers_weights": None,
    "return_dict": True,
    "output_hidden_states": False,
    "output_attentions": False,
    "chunk_size_feed_forward": 0,
    "pruned_heads": {},
}
SAVED_TYPES: dict[str, Any] = {  # of the settings that a run saves for prediction
    "finetune": dict,
    "task": str,
    "layout": dict,
    "layers": (str, list),
    "bilstm": int,
    "pooling": str,
    "bare": bool,
    "max_length": int,
    "precision": str,
    "options": dict,
}
FEW_PARAMETERS = 1 << 26  # any config may ask for so many
PARAMETERS_PER_BYTE = 4  # of the weights' files, at most; no known precision has more than 2


def require_config(folder: Path) -> dict[str, Any]:
    """The config as a table. Raises UserError if it breaks a limit, or asks for more than the weights hold."""
    file = folder / "config.json"
    table = _table(file)
    if (folder / "adapter_config.json").exists():
        raise UserError(f"{folder}: is an adapter, not a model", "Merge it into its encoder, and save that")
    if error := gone(str(table.get("model_type"))):
        raise error
    if not isinstance(table.get("model_type"), str):
        raise UserError(f"{file}: has no model_type", REMEDY)
    if table.get("quantization_config") is not None:
        raise UserError(f"{file}: its weights are quantized, which is not supported", "Name the unquantized model")
    _require_limits(str(file), table)
    kinds, labels = table.get("architectures") or [], table.get("id2label") or {}
    numbered = isinstance(labels, dict) and set(labels) == set(map(str, range(len(labels))))
    if not numbered or not all(isinstance(name, str | int) for name in labels.values()):
        raise UserError(f"{file}: id2label is {str(labels)[:40]}", "It has the name of each label, from 0 on")
    if not isinstance(kinds, list) or not all(isinstance(name, str) for name in kinds):
        raise UserError(f"{file}: architectures is {str(kinds)[:40]}", "It is a list of names of classes")
    _require_no_code(file, table)
    _require_weights(folder, table)
    return table


def saved_settings(config: Any) -> dict[str, Any]:
    """The settings that a run saved in a model's config, a table or transformers' object. Raises UserError for wrong
    types and values.
    """
    saved = (config.get("finetune") if isinstance(config, Mapping) else getattr(config, "finetune", None)) or {}
    settings: dict[str, Any] = saved if isinstance(saved, dict) else {"finetune": saved}
    for name, value in settings.items():
        if not isinstance(value, SAVED_TYPES.get(name, object)):
            raise UserError(f"config.json: {name} of 'finetune' is {str(value)[:40]}", "Train the model again")
    _require_limits("config.json", settings)
    pooling = str(settings.get("pooling", "mean"))
    if pooling not in ("cls", "mean", "unit", "family"):
        raise UserError(f"config.json: pooling of 'finetune' is {pooling[:40]}", "It is cls, mean, unit or family")
    return settings


def _table(file: Path) -> dict[str, Any]:
    try:
        table = json.loads(read_small(file, most=LONGEST_TEXT))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: is not JSON ({first_line(error)})", REMEDY) from error
    if not isinstance(table, dict):
        raise UserError(f"{file}: is not a JSON object", REMEDY)
    return table


def _require_limits(where: str, table: Mapping[str, Any]) -> None:
    """Raises UserError for a number out of bounds. transformers refuses what is not a number, but a share of NaN."""
    for name, value in table.items():
        is_share = "dropout" in name or name.endswith("_eps")
        least, most = (0, 1) if is_share else LIMITS.get(name, (-math.inf, math.inf))
        if is_share:
            within = value is None or (isinstance(value, int | float) and 0 <= value <= 1)
        else:
            within = not isinstance(value, int) or least <= value <= most
        if not within:
            raise UserError(f"{where}: {name[:40]} is {str(value)[:40]}", f"It is from {least} to {most:,}")


def _require_no_code(file: Path, table: Mapping[str, Any]) -> None:
    """Raises UserError for an encoder of code in its folder, unless transformers has the class of that name.

    transformers would compute another architecture where the type has a name that it knows, such as Jina's `bert`.
    """
    code = table.get("auto_map") or {}
    if not isinstance(code, dict):
        raise UserError(f"{file}: auto_map is {str(code)[:40]}", "Leave it out")
    kind = next((kind for kind in ("AutoConfig", "AutoModel") if kind in code), None)
    if kind is None:
        return
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    name = str(code[kind]).rpartition(".")[2]
    classes = CONFIG_MAPPING_NAMES if kind == "AutoConfig" else MODEL_MAPPING_NAMES
    if classes.get(table["model_type"]) == name and "hidden_size" in table:
        return
    raise UserError(
        f"{file}: the encoder is computed by code of its own ({str(code[kind])[:100]}), which is never run",
        "Name an encoder, or a copy of this one, that transformers computes itself",
    )


def _require_weights(folder: Path, table: Mapping[str, Any]) -> None:
    """Raises UserError for shards outside the folder, and for weights of far fewer bytes than the config asks for."""
    index = folder / "model.safetensors.index.json"
    shards = _table(index).get("weight_map") if index.exists() else {}
    if not isinstance(shards, dict) or not all(
        isinstance(name, str) and name == Path(name).name and name.endswith(".safetensors") for name in shards.values()
    ):
        raise UserError(f"{index}: does not name its files", "It maps each weight to a .safetensors file next to it")
    files = [require_file(file) for file in folder.glob("*.safetensors")]
    size, asked = sum(file.stat().st_size for file in files), _least_parameters(table)
    if files and asked > max(FEW_PARAMETERS, PARAMETERS_PER_BYTE * size):
        raise UserError(
            f"{folder}: config.json asks for {asked:,} parameters or more, and the weights have {size:,} bytes", REMEDY
        )


def _least_parameters(table: Mapping[str, Any]) -> int:
    """The number of parameters of embeddings and dense layers; settings that are no numbers count as 0."""

    def first(*names: str) -> int:
        return next((table[name] for name in names if type(table.get(name)) is int), 0)

    width, inner = first("hidden_size", "dim"), first("intermediate_size", "hidden_dim")
    rows = first("vocab_size") + first("max_position_embeddings") + first("type_vocab_size")
    layers = first("num_hidden_groups", "num_hidden_layers", "n_layers")  # ALBERT's layers share their weights
    layers *= max(first("inner_group_num"), 1)
    return rows * (first("embedding_size") or width) + layers * width * (4 * width + 2 * inner)
