"""What must hold of a model's folder: checked before transformers reads it, and before memory is taken for weights.

A folder may be a stranger's. Its config can ask for any size, name code elsewhere, and point at other files. Weights as
torch.save wrote them (`pytorch_model.bin`) are a pickle, which can run code: with `weights_only` torch builds nothing
but tensors (safe from torch 2.6 on, which we require). They are converted to safetensors once, into the cache.
"""

import json
import pickle
import re
import shutil
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.atomic import written_file
from finetune.data.checksums import CHECKSUMS, sha256_of
from finetune.data.paths import read_small, require_file
from finetune.data.records import LONGEST_TEXT
from finetune.errors import THEIRS, UserError, first_line
from finetune.gone import gone
from finetune.models.fingerprint import DECISIVE, OWN_WEIGHTS, SETTINGS
from finetune.runs.recipe import WIDEST_LSTM
from finetune.storage.cache import Entry, cache_folder, hash_of

if TYPE_CHECKING:
    from torch import Tensor

REMEDY = "A model folder needs config.json, model.safetensors and the tokenizer's files, as save_pretrained writes them"
LAYERS = ("num_hidden_layers", "n_layers", "num_attention_heads", "n_heads", "num_hidden_groups", "inner_group_num")
LIMITS: dict[str, tuple[int, int]] = {  # of whole numbers, the least and the most
    # Of no layers a model can be built; of many thin ones it takes long to find that they do not fit.
    **dict.fromkeys(LAYERS, (1, 1_024)),
    "num_labels": (0, 1_000_000),  # transformers names each
    "pad_token_id": (0, 1_000_000),
    "max_length": (1, 10_000_000),
    "bilstm": (0, WIDEST_LSTM),
}
FIXED: dict[str, Any] = {  # what a config may set for other uses: attention from the Hub, outputs that are not tensors
    "_attn_implementation": None,
    "_experts_implementation": None,
    "transformers_weights": None,
    "return_dict": True,
    "output_hidden_states": False,
    "output_attentions": False,
    "chunk_size_feed_forward": 0,
    "pruned_heads": {},
}
SAVED_TYPES: dict[str, Any] = {  # of what a run saves for prediction
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
SIBLINGS = {  # by the class of a config whose code is not run: the type that transformers has for it, and who has that
    "NewConfig": ("gte", "alibaba-nlp-community/gte-multilingual-base"),
    "NomicBertConfig": ("nomic_bert", "nomic-ai/nomic-embed-text-v1.5"),
    "XLMRobertaFlashConfig": ("jina_embeddings_v3", "jinaai/jina-embeddings-v3-hf"),
}
FEW_PARAMETERS = 1 << 26  # that any config may ask for
PARAMETERS_PER_BYTE = 4  # of the weights' files; more than 2 would be of no known precision
FORMAT = 1  # of the converted weights
WHOLE, SHARDS = "pytorch_model.bin", "pytorch_model-*-of-*.bin"
PICKLED = (WHOLE, SHARDS)
INDEX = "pytorch_model.bin.index.json"  # of shards, which are converted into one file
OTHERS = {"tf_model.h5": "TensorFlow", "model.ckpt*": "TensorFlow", "flax_model.msgpack": "Flax"}
MOST_GROWTH = 4  # times the file's size, since each name of a tied weight is stored
SAFE_COPY = "Name a copy with model.safetensors; or, if you trust the file, load it yourself and use save_pretrained"


def require_config(folder: Path) -> dict[str, Any]:
    """The config as a table. Raises UserError where it breaks a bound, or asks for more than the weights hold."""
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
    """What a run of finetune saved in a model's config, a table or transformers'. Raises UserError where it has another
    form.
    """
    settings = config.get("finetune") if isinstance(config, Mapping) else getattr(config, "finetune", None)
    named = settings if isinstance(settings or {}, dict) else {"finetune": settings}
    named = named or {}
    for name, value in named.items():
        if not isinstance(value, SAVED_TYPES.get(name, object)):
            raise UserError(f"config.json: {name} of 'finetune' is {str(value)[:40]}", "Train the model again")
    _require_limits("config.json", named)
    pooling = str(named.get("pooling", "mean"))
    if pooling not in ("cls", "mean", "unit", "family"):
        raise UserError(f"config.json: pooling of 'finetune' is {pooling[:40]}", "It is cls, mean, unit or family")
    return named


def _table(file: Path) -> dict[str, Any]:
    try:
        table = json.loads(read_small(file, most=LONGEST_TEXT))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: is not JSON ({first_line(error)})", REMEDY) from error
    if not isinstance(table, dict):
        raise UserError(f"{file}: is not a JSON object", REMEDY)
    return table


def _require_limits(where: str, table: Mapping[str, Any]) -> None:
    """Raises UserError for a number out of bounds; what is not a whole number is refused by transformers itself, which
    lets a share of NaN pass.
    """
    for name, value in table.items():
        share = "dropout" in name or name.endswith("_eps")
        least, most = (0, 1) if share else LIMITS.get(name, (0, 0))
        if share:
            within = value is None or (isinstance(value, int | float) and 0 <= value <= 1)
        else:
            within = name not in LIMITS or not isinstance(value, int) or least <= value <= most
        if not within:
            raise UserError(f"{where}: {name[:40]} is {str(value)[:40]}", f"It is from {least} to {most:,}")


def _require_no_code(file: Path, table: Mapping[str, Any]) -> None:
    """Raises UserError for an encoder that code in its folder computes, unless transformers has taken that code over.

    Of another architecture with a name that transformers has, as Jina's `bert`, it would compute something else.
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
    own = CONFIG_MAPPING_NAMES if kind == "AutoConfig" else MODEL_MAPPING_NAMES
    if own.get(table["model_type"]) == name and "hidden_size" in table:
        return
    remedy = "Name an encoder that transformers computes itself"
    if name in SIBLINGS:
        remedy = "Name a copy for transformers' own {}, such as {}".format(*SIBLINGS[name])
    raise UserError(
        f"{file}: the encoder is computed by code of its own ({str(code[kind])[:100]}), which is never run", remedy
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
    """The parameters of the embeddings and of the layers' dense weights; what is not a number counts as 0."""

    def first(*names: str) -> int:
        return next((table[name] for name in names if type(table.get(name)) is int), 0)

    width, inner = first("hidden_size", "dim"), first("intermediate_size", "hidden_dim")
    rows = first("vocab_size") + first("max_position_embeddings") + first("type_vocab_size")
    layers = first("num_hidden_groups", "num_hidden_layers", "n_layers")  # ALBERT's layers share their weights
    layers *= max(first("inner_group_num"), 1)
    return rows * (first("embedding_size") or width) + layers * width * (4 * width + 2 * inner)


def pickled_files(folder: Path) -> list[Path]:
    """A folder's weights in files of torch.save, where it has none in safetensors."""
    if any(folder.glob("model*.safetensors")) or (folder / OWN_WEIGHTS).is_file():
        return []
    whole = folder / WHOLE
    return [whole] if whole.is_file() else sorted(folder.glob(SHARDS))


def foreign_weights(names: Sequence[str]) -> str:
    """`TensorFlow (tf_model.h5)`, of the first file among these that another library reads; else empty."""
    foreign = ((name, library) for pattern, library in OTHERS.items() for name in names if Path(name).match(pattern))
    return next((f"{library} ({name})" for name, library in foreign), "")


def in_safetensors(folder: Path, name: str) -> Path:
    """A model's folder with its weights in safetensors: itself, or a copy in the cache, whose own name has the model's,
    for messages.

    Raises UserError for pickles that hold more than weights, and where the copy does not fit into the cache.
    """
    files = pickled_files(folder)
    if not files:
        return folder
    others = {file for pattern in (*DECISIVE, *SETTINGS) for file in folder.glob(pattern) if file.is_file()}
    copied = sorted(file for file in others if file.name not in (INDEX, CHECKSUMS))
    facts = [FORMAT, *((file.relative_to(folder).as_posix(), sha256_of(file)) for file in (*copied, *files))]
    label = re.sub(r"[^\w.-]", "-", Path(name).name)[:40]
    entry = Entry(cache_folder("weights") / f"{label}-{hash_of(facts)[:20]}")
    with entry.required():
        entry.read_or_make(read=dict, make=lambda: _convert(folder, files, copied, entry))
    return entry.folder


def _convert(folder: Path, files: Sequence[Path], copied: Sequence[Path], entry: Entry) -> None:
    """Writes the weights of all files into one, and copies the other files that decide next to it."""
    from safetensors.torch import save_file

    size = sum(file.stat().st_size for file in (*files, *copied))
    entry.require_room(size, what=f"the weights of {folder} are converted to safetensors there")
    state, seen = {name: tensor for file in files for name, tensor in _state(file).items()}, set[int]()
    for name, tensor in state.items():  # in safetensors no two tensors share memory
        memory = tensor.untyped_storage().data_ptr()
        state[name] = tensor.clone() if memory in seen else tensor.contiguous()
        seen.add(memory)
    with written_file(entry.folder / "model.safetensors") as scratch:
        save_file(state, scratch, metadata={"format": "pt"})
    for file in copied:
        copy = entry.folder / file.relative_to(folder)
        copy.parent.mkdir(exist_ok=True)
        with written_file(copy) as scratch:
            shutil.copyfile(file, scratch)
    entry.seal(["model.safetensors", *(file.relative_to(folder).as_posix() for file in copied)])


def _state(file: Path) -> "dict[str, Tensor]":
    """The tensors of a file by name. Raises UserError where it holds anything else, or more than its size allows."""
    import torch

    try:
        zipped = zipfile.is_zipfile(file)
        if zipped:
            with zipfile.ZipFile(file) as archive:  # a compressed one can be of any size
                if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                    raise UserError(f"{file}: is compressed, which torch.save never does", SAFE_COPY)
        with warnings.catch_warnings(action="ignore"):  # of odd pickles, which fail
            state = torch.load(file, map_location="cpu", weights_only=True, mmap=zipped)
    except (UserError, *THEIRS):
        raise
    except pickle.UnpicklingError as error:
        named = re.search(r"GLOBAL (\S+)", str(error))  # the rest of the message advises to run the code
        what = f" (it names {named[1]})" if named else ""
        raise UserError(f"{file}: is not a pickle of weights alone{what}, and is not read", SAFE_COPY) from error
    except Exception as error:  # a damaged file makes torch fail in any way
        raise UserError(f"{file}: the weights cannot be read ({first_line(error)})", "Fetch the file again") from error
    content = "no tensors" if isinstance(state, dict) else f"a {type(state).__name__}"
    if isinstance(state, dict) and state:
        odd = [name for name, value in state.items() if not _is_weight(name, value)]
        content = f"{str(odd[0])[:40]} is a {type(state[odd[0]]).__name__}" if odd else ""
    if content:
        raise UserError(f"{file}: does not hold weights by their names ({content})", SAFE_COPY)
    # A small file can ask for any memory.
    size, asked = file.stat().st_size, sum(tensor.numel() * tensor.element_size() for tensor in state.values())
    if asked > MOST_GROWTH * size:
        raise UserError(f"{file}: its weights would take {asked:,} bytes, and it has {size:,}", SAFE_COPY)
    return dict(state)


def _is_weight(name: object, value: object) -> bool:
    import torch

    dense = isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized
    return isinstance(name, str) and dense and value.device.type == "cpu"  # type: ignore[attr-defined]
