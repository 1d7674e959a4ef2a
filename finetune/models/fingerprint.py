"""A fingerprint of a model's folder: of what decides tokens and logits, whatever else its files say."""

import hashlib
import json
import mmap
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from finetune.data.checksums import CHECKSUMS, sha256_of
from finetune.data.paths import read_small

OWN_WEIGHTS = "finetune.safetensors"  # weights that no class of transformers can load
WEIGHTS = ("model.safetensors", "model*.safetensors", OWN_WEIGHTS)
DECISIVE = ("*.json", "*.txt", "*.model", "model*.safetensors", OWN_WEIGHTS)  # all that may decide
SETTINGS = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json", "*_Pooling/config.json")
TOKENIZER = "tokenizer.json"  # where it is there, no file of a vocabulary is read
VOCABULARIES = ("vocab.*", "*.model", "merges.txt", "added_tokens.json")
ABOUT_FILES = (  # fields that say where from and by what, or how weights are stored, which are read as fp32
    *("_name_or_path", "name_or_path", "_commit_hash", "transformers_version", "torch_dtype", "dtype"),
    *("tokenizer_file", "special_tokens_map_file", "local_files_only", "is_local"),
)
MOST_BYTES = 1 << 24  # of settings
# Ids of runs rest on fingerprints. A hash of whole files changed them with metadata, a hash of contents alone would
# have changed those of all records. So what a run saved, where nothing is spare, and encoders of records made before
# (content: hash of its files) keep the hash of their files.
KNOWN = {
    "135f87e3bc89b0039502a87d36997b839329326246be17bf07c70bb8541deab1": (  # minilm
        "b2a00d0fbc04000a435054ca4ce751dd4244251a53c46597ddc2ea93aae182bd"
    )
}


def fingerprint_of(folder: Path) -> str:
    """A hash of tensors by name, type, shape and bytes, of settings, and of the tokenizer."""
    if (folder / CHECKSUMS).is_file():
        return _of_files(sorted({file for pattern in DECISIVE for file in folder.glob(pattern)}))
    digest = hashlib.sha256()
    vocabulary = [folder / TOKENIZER] if (folder / TOKENIZER).is_file() else _matching(folder, VOCABULARIES)
    weights = next((found for pattern in WEIGHTS if (found := sorted(folder.glob(pattern)))), [])
    tensors = sorted(line for file in weights for line in _tensors(file, file.stat().st_mtime_ns, file.stat().st_size))
    for fact in (tensors, [_settings(file) for file in _matching(folder, SETTINGS)], _of_files(vocabulary)):
        digest.update(json.dumps(fact, sort_keys=True).encode())
    return KNOWN.get(digest.hexdigest(), digest.hexdigest())


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return sorted({file for pattern in patterns for file in folder.glob(pattern)})


def _of_files(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}:{sha256_of(file)};".encode())
    return digest.hexdigest()


def _settings(file: Path) -> list[Any]:
    """The name of a file of settings, and these without what they say about files; of one that is damaged its hash."""
    try:
        table = json.loads(read_small(file, most=MOST_BYTES))
    except (ValueError, RecursionError):
        return [file.name, sha256_of(file)]
    if isinstance(table, dict):
        table = {name: value for name, value in table.items() if name not in ABOUT_FILES}
    return [file.name, table]


@lru_cache(maxsize=64)
def _tensors(file: Path, *_: int) -> tuple[str, ...]:
    """A line for each tensor of a safetensors file; of one that is damaged the hash of the file."""
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
