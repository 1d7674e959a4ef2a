"""The files of a model's folder: a fingerprint of what decides tokens and logits; conversion of weights of torch.save.

Such weights (`pytorch_model.bin`) are a pickle, which can run code. With `weights_only` torch builds tensors alone,
which is safe from torch 2.6 on. They are converted to safetensors once, into the cache.
"""

import hashlib
import json
import mmap
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

from finetune.data.atomic import written_file
from finetune.data.checksums import CHECKSUMS, sha256_of
from finetune.data.paths import read_small
from finetune.errors import THEIRS, UserError, first_line
from finetune.storage.cache import Entry, cache_folder, hash_of

if TYPE_CHECKING:
    from torch import Tensor

OWN_WEIGHTS = "finetune.safetensors"  # weights that no class of transformers can load
WEIGHTS = ("model.safetensors", "model*.safetensors", OWN_WEIGHTS)
DECISIVE = ("*.json", "*.txt", "*.model", "model*.safetensors", OWN_WEIGHTS)  # all that may decide tokens and logits
SETTINGS = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json", "*_Pooling/config.json")
TOKENIZER = "tokenizer.json"  # where it exists, VOCABULARIES are not read
VOCABULARIES = ("vocab.*", "*.model", "merges.txt", "added_tokens.json")
ABOUT_FILES = (  # settings on the origin of files, and on the precision of weights, which are read as fp32
    *("_name_or_path", "name_or_path", "_commit_hash", "transformers_version", "torch_dtype", "dtype"),
    *("tokenizer_file", "special_tokens_map_file", "local_files_only", "is_local"),
)
MOST_BYTES = 1 << 24  # of settings
# Ids of runs depend on fingerprints. These were hashes of whole files, which differ by metadata; now they are hashes of
# contents. The old ones stay for models that a run saved, and for encoders of older records (content: hash of files).
KNOWN = {
    "135f87e3bc89b0039502a87d36997b839329326246be17bf07c70bb8541deab1": (  # minilm
        "b2a00d0fbc04000a435054ca4ce751dd4244251a53c46597ddc2ea93aae182bd"
    )
}


def fingerprint_of(folder: Path) -> str:
    """A hash of tensors by name, type, shape and bytes, of settings, and of the tokenizer."""
    if (folder / CHECKSUMS).is_file():
        return _of_files(_matching(folder, DECISIVE))
    digest = hashlib.sha256()
    vocabulary = [folder / TOKENIZER] if (folder / TOKENIZER).is_file() else _matching(folder, VOCABULARIES)
    weights = next((files for pattern in WEIGHTS if (files := sorted(folder.glob(pattern)))), [])
    tensors = sorted(line for file in weights for line in _tensors(file, file.stat().st_mtime_ns, file.stat().st_size))
    for fact in (tensors, [_settings(file) for file in _matching(folder, SETTINGS)], _of_files(vocabulary)):
        digest.update(json.dumps(fact, sort_keys=True).encode())
    return KNOWN.get(digest.hexdigest(), digest.hexdigest())


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return sorted({file for pattern in patterns for file in folder.glob(pattern)})


def _of_files(files: Sequence[Path]) -> str:
    return hashlib.sha256("".join(f"{file.name}:{sha256_of(file)};" for file in files).encode()).hexdigest()


def _settings(file: Path) -> list[Any]:
    """The name of a file of settings, and its settings without ABOUT_FILES; of a damaged file its hash."""
    try:
        table = json.loads(read_small(file, most=MOST_BYTES))
    except (ValueError, RecursionError):
        return [file.name, sha256_of(file)]
    if isinstance(table, dict):
        table = {name: value for name, value in table.items() if name not in ABOUT_FILES}
    return [file.name, table]


@lru_cache(maxsize=64)
def _tensors(file: Path, *_: int) -> tuple[str, ...]:
    """A line for each tensor of a safetensors file; of a damaged file its hash."""
    try:
        return tuple(_lines(file))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return (sha256_of(file),)


def _lines(file: Path) -> Iterator[str]:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = 8 + int.from_bytes(data[:8], "little")
        if start > len(data):
            raise ValueError("the header is longer than the file")
        for name, about in json.loads(data[8:start]).items():
            if name != "__metadata__":
                first, last = about["data_offsets"]
                with memoryview(data)[start + first : start + last] as part:
                    yield f"{name}:{about['dtype']}:{about['shape']}:{hashlib.sha256(part).hexdigest()}"


FORMAT = 1  # of the converted weights
PICKLED = ("pytorch_model.bin", "pytorch_model-*-of-*.bin")
INDEX = "pytorch_model.bin.index.json"  # of shards, which are converted into one file
MOST_GROWTH = 4  # times the file's size, since each name of a tied weight is stored
SAFE_COPY = "Name a copy with model.safetensors; or, if you trust the file, load it yourself and use save_pretrained"


def pickled_files(folder: Path) -> list[Path]:
    """A folder's weights of torch.save; empty where it has weights in safetensors."""
    if any(folder.glob("model*.safetensors")) or (folder / OWN_WEIGHTS).is_file():
        return []
    return next((files for pattern in PICKLED if (files := sorted(folder.glob(pattern)))), [])


def in_safetensors(folder: Path, name: str) -> Path:
    """A model's folder with weights in safetensors: itself, or a copy in the cache, named after the model for messages.

    Raises UserError for pickles that hold more than weights, and for a copy that does not fit into the cache.
    """
    files = pickled_files(folder)
    if not files:
        return folder
    others = filter(Path.is_file, _matching(folder, (*DECISIVE, *SETTINGS)))
    copied = [file for file in others if file.name not in (INDEX, CHECKSUMS)]
    facts = [FORMAT, *((file.relative_to(folder).as_posix(), sha256_of(file)) for file in (*copied, *files))]
    label = re.sub(r"[^\w.-]", "-", Path(name).name)[:40]
    entry = Entry(cache_folder("weights") / f"{label}-{hash_of(facts)[:20]}")

    def convert() -> None:
        from safetensors.torch import save_file

        size = sum(file.stat().st_size for file in (*files, *copied))
        entry.require_room(size, what=f"the weights of {folder} are converted to safetensors there")
        state = {name: tensor for file in files for name, tensor in _state(file).items()}
        with written_file(entry.folder / "model.safetensors") as scratch:
            save_file({name: tensor.clone() for name, tensor in state.items()}, scratch, metadata={"format": "pt"})
        for file in copied:
            copy = entry.folder / file.relative_to(folder)
            copy.parent.mkdir(exist_ok=True)
            with written_file(copy) as scratch:
                shutil.copyfile(file, scratch)
        entry.seal(["model.safetensors", *(file.relative_to(folder).as_posix() for file in copied)])

    entry.ensure(convert)
    return entry.folder


def _state(file: Path) -> "dict[str, Tensor]":
    """The tensors of a file by name. Raises UserError if it holds anything else, or more than its size allows."""
    import torch

    try:
        state: Any = torch.load(file, map_location="cpu", weights_only=True, mmap=is_zipfile(file))
    except THEIRS:
        raise
    except Exception as error:  # torch fails in many ways; its own message advises to run the code in the file
        reason = first_line(error).partition(".")[0]
        raise UserError(f"{file}: is not a file of weights alone ({reason}), and is not read", SAFE_COPY) from error
    tensors = list(state.values()) if isinstance(state, dict) else []
    if not tensors or not all(
        isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided for tensor in tensors
    ):
        raise UserError(f"{file}: does not hold weights by their names", SAFE_COPY)
    size, needed = file.stat().st_size, sum(tensor.nbytes for tensor in tensors)
    if needed > MOST_GROWTH * size:  # a small file can ask for any amount of memory
        raise UserError(f"{file}: its weights would take {needed:,} bytes, and it has {size:,}", SAFE_COPY)
    return dict(state)
