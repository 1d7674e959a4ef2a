"""Weights as torch.save wrote them (`pytorch_model.bin`): converted to safetensors once, into the cache.

A pickle can run code: with `weights_only` torch builds nothing but tensors (safe from torch 2.6 on, which we require).
A small file can ask for any memory: what it holds is compared with its size before memory is taken.
"""

import pickle
import re
import shutil
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.atomic import written_file
from finetune.data.checksums import CHECKSUMS, sha256_of
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.fingerprint import DECISIVE, OWN_WEIGHTS, SETTINGS
from finetune.storage.cache import Entry, cache_folder, hash_of

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 1
WHOLE, SHARDS = "pytorch_model.bin", "pytorch_model-*-of-*.bin"
PICKLED = (WHOLE, SHARDS)
INDEX = "pytorch_model.bin.index.json"  # of shards, which are converted into one file
SAFE = "model.safetensors"
OTHERS = {"tf_model.h5": "TensorFlow", "model.ckpt*": "TensorFlow", "flax_model.msgpack": "Flax"}
NOT_IN_NAMES, LABEL_CHARS = re.compile(r"[^\w.-]"), 40
MOST_GROWTH = 4  # times the file's size, since each name of a tied weight is stored
NAMED = re.compile(r"GLOBAL (\S+)")  # in torch's message: what the pickle would have built
SAFE_COPY = "Name a copy with model.safetensors; or, if you trust the file, load it yourself and use save_pretrained"


def pickled_files(folder: Path) -> list[Path]:
    """A folder's weights in files of torch.save, where it has none in safetensors."""
    if any(folder.glob("model*.safetensors")) or (folder / OWN_WEIGHTS).is_file():
        return []
    whole = folder / WHOLE
    return [whole] if whole.is_file() else sorted(folder.glob(SHARDS))


def in_safetensors(folder: Path, name: str) -> Path:
    """A model's folder with its weights in safetensors: itself, or a copy in the cache, whose own name has the model's,
    for messages.

    Raises UserError for pickles that hold more than weights, and where the copy does not fit into the cache.
    """
    files = pickled_files(folder)
    if not files:
        return folder
    found = {file for pattern in (*DECISIVE, *SETTINGS) for file in folder.glob(pattern) if file.is_file()}
    copied = sorted(file for file in found if file.name not in (INDEX, CHECKSUMS))
    facts = [FORMAT, *((file.relative_to(folder).as_posix(), sha256_of(file)) for file in (*copied, *files))]
    label = NOT_IN_NAMES.sub("-", Path(name).name)[:LABEL_CHARS]
    kept = Entry(cache_folder("weights") / f"{label}-{hash_of(facts)[:20]}")
    with kept.required():
        kept.read_or_make(read=dict, make=lambda: _convert(folder, files, copied, kept))
    return kept.folder


def foreign_weights(names: Sequence[str]) -> str:
    """`TensorFlow (tf_model.h5)`, of the first file among these that another library reads; else empty."""
    found = ((name, library) for pattern, library in OTHERS.items() for name in names if Path(name).match(pattern))
    return next((f"{library} ({name})" for name, library in found), "")


def _convert(folder: Path, files: Sequence[Path], copied: Sequence[Path], kept: Entry) -> None:
    """Writes the weights of all files into one, and copies the other files that decide next to it."""
    from safetensors.torch import save_file

    size = sum(file.stat().st_size for file in (*files, *copied))
    kept.require_room(size, what=f"the weights of {folder} are converted to safetensors there")
    state, seen = {name: tensor for file in files for name, tensor in _state(file).items()}, set[int]()
    for name, tensor in state.items():  # in safetensors no two tensors share memory
        place = tensor.untyped_storage().data_ptr()
        state[name] = tensor.clone() if place in seen else tensor.contiguous()
        seen.add(place)
    with written_file(kept.folder / SAFE) as scratch:
        save_file(state, scratch, metadata={"format": "pt"})
    for file in copied:
        place_of_copy = kept.folder / file.relative_to(folder)
        place_of_copy.parent.mkdir(exist_ok=True)
        with written_file(place_of_copy) as scratch:
            shutil.copyfile(file, scratch)
    kept.seal([SAFE, *(file.relative_to(folder).as_posix() for file in copied)])


def _state(file: Path) -> "dict[str, Tensor]":
    """The tensors of a file by name. Raises UserError where it holds anything else, or more than its size allows."""
    import torch

    try:
        zipped = zipfile.is_zipfile(file)
        if zipped:
            _require_unpacked(file)
        with warnings.catch_warnings(action="ignore"):  # of odd pickles, which fail
            state = torch.load(file, map_location="cpu", weights_only=True, mmap=zipped)
    except UserError:
        raise
    except THEIRS:
        raise
    except pickle.UnpicklingError as error:
        named = NAMED.search(str(error))  # the rest of the message advises to run the code
        what = f" (it names {named[1]})" if named else ""
        raise UserError(f"{file}: is not a pickle of weights alone{what}, and is not read", SAFE_COPY) from error
    except Exception as error:  # a damaged file makes torch fail in any way
        raise UserError(f"{file}: the weights cannot be read ({first_line(error)})", "Fetch the file again") from error
    if not isinstance(state, dict) or not state or not all(map(_is_weight, state, state.values())):
        raise UserError(f"{file}: does not hold weights by their names ({_content(state)})", SAFE_COPY)
    size, asked = file.stat().st_size, sum(tensor.numel() * tensor.element_size() for tensor in state.values())
    if asked > MOST_GROWTH * size:
        raise UserError(f"{file}: its weights would take {asked:,} bytes, and it has {size:,}", SAFE_COPY)
    return dict(state)


def _require_unpacked(file: Path) -> None:
    """Raises UserError for a compressed file, which can be of any size; torch.save compresses nothing."""
    with zipfile.ZipFile(file) as archive:
        if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
            raise UserError(f"{file}: is compressed, which torch.save never does", SAFE_COPY)


def _is_weight(name: object, value: object) -> bool:
    import torch

    return (
        isinstance(name, str)
        and isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not value.is_quantized
    )


def _content(state: object) -> str:
    """What a file holds instead of weights."""
    if not isinstance(state, dict):
        return f"a {type(state).__name__}"
    odd = next((name for name, value in state.items() if not _is_weight(name, value)), None)
    return "no tensors" if odd is None else f"{str(odd)[:40]} is a {type(state[odd]).__name__}"
