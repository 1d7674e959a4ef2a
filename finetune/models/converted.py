"""Weights as torch.save wrote them (`pytorch_model.bin`), converted to safetensors once, into the cache.

They are a pickle, which can run code: with `weights_only` torch builds nothing but tensors (safe from torch 2.6 on,
which we require).
"""

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

from finetune.data.atomic import written_file
from finetune.data.checksums import CHECKSUMS, sha256_of
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.fingerprint import DECISIVE, OWN_WEIGHTS, SETTINGS
from finetune.storage.cache import Entry, cache_folder, hash_of

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 1  # of the converted weights
PICKLED = ("pytorch_model.bin", "pytorch_model-*-of-*.bin")
INDEX = "pytorch_model.bin.index.json"  # of shards, which are converted into one file
MOST_GROWTH = 4  # times the file's size, since each name of a tied weight is stored
SAFE_COPY = "Name a copy with model.safetensors; or, if you trust the file, load it yourself and use save_pretrained"


def pickled_files(folder: Path) -> list[Path]:
    """A folder's weights in files of torch.save, where it has none in safetensors."""
    if any(folder.glob("model*.safetensors")) or (folder / OWN_WEIGHTS).is_file():
        return []
    return next((files for pattern in PICKLED if (files := sorted(folder.glob(pattern)))), [])


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
    """The tensors of a file by name. Raises UserError where it holds anything else, or more than its size allows."""
    import torch

    try:
        state: Any = torch.load(file, map_location="cpu", weights_only=True, mmap=is_zipfile(file))
    except THEIRS:
        raise
    except Exception as error:  # a damaged file makes torch fail in any way; its advice is to run the code
        reason = first_line(error).partition(".")[0]
        raise UserError(f"{file}: is not a file of weights alone ({reason}), and is not read", SAFE_COPY) from error
    tensors = list(state.values()) if isinstance(state, dict) else []
    if not tensors or not all(isinstance(one, torch.Tensor) and one.layout == torch.strided for one in tensors):
        raise UserError(f"{file}: does not hold weights by their names", SAFE_COPY)
    size, asked = file.stat().st_size, sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    if asked > MOST_GROWTH * size:  # a small file can ask for any memory
        raise UserError(f"{file}: its weights would take {asked:,} bytes, and it has {size:,}", SAFE_COPY)
    return dict(state)
