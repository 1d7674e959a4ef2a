"""Features of a split in arrays: encoded once for the same rows, tokenizer and code, then memory-mapped from the cache.

`storage.cache` has the folder and its size limit.
"""

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from finetune import models, task_types
from finetune.data.atomic import scratch_file, write_atomically
from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.models.feature import Feature
from finetune.models.feature_arrays import ArrayFeatures, NoArrays, to_arrays
from finetune.models.tokenizers.fingerprint import tokenizer_hash
from finetune.runs.events import Note, Watcher, Working
from finetune.storage.array_file import Arrays, append_arrays, map_arrays
from finetune.storage.cache import Entry, entry, hash_of, most_bytes
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FORMAT = 2  # in 1, the index was in the file of arrays
ROWS_AT_ONCE = 10_000  # rows that are encoded at once, to bound memory
FILE, INDEX = "features.bin", "index.json"
NOT_ENCODED = ("read", "metrics", "inputs")  # fields of a task that do not decide its features


class NoRoom(Exception):
    """An entry does not fit into the cache."""


def array_features(
    task: Task, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int, *,
    content: str, watch: Watcher,
) -> Sequence[Feature]:  # fmt: skip
    """The features of a split, as `task.encode` gives them, in arrays: from the cache, whose size limit they fit, or
    else in memory. Features that have no array form are a list. `content` is a hash of the rows.

    The encoder has positions for `max_length` (`prepare.require_positions`).
    """
    without_arrays = list[Feature]()

    def parts() -> Iterator[tuple[int, Arrays]]:
        for begin, end in row_chunks(task, rows):
            watch(Working("encoding rows", begin, len(rows)))
            features = task.codec.encode(rows[begin:end], tokenizer, max_length)
            try:
                arrays = to_arrays(features, first_row=begin)
            except NoArrays:
                if end - begin == len(rows):  # else they number the rows of a part
                    without_arrays.extend(features)
                raise
            yield end, arrays

    facts = _facts(task, tokenizer)
    try:
        if facts is None or not most_bytes():
            return ArrayFeatures([arrays for _, arrays in parts()])
        kept = entry("features", hash_of([FORMAT, content, max_length, facts]))
        found = _cached(kept, parts, len(rows), watch)
        return ArrayFeatures(found or [arrays for _, arrays in parts()])
    except NoArrays:
        return without_arrays or task.codec.encode(rows, tokenizer, max_length)


def row_chunks(task: Task, rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """(begin, end) of parts of the rows that are encoded one after another, of about ROWS_AT_ONCE rows."""
    begin = 0
    while begin < len(rows):
        end = min(begin + ROWS_AT_ONCE, len(rows))
        while end < len(rows) and task.codec.encode_together(rows[end - 1], rows[end]):
            end += 1
        yield begin, end
        begin = end


def _cached(
    kept: Entry, parts: Callable[[], Iterator[tuple[int, Arrays]]], rows: int, watch: Watcher
) -> Sequence[Arrays] | None:
    """The arrays of an entry, which is written if it is not there or damaged; None, with a note, if that fails."""
    try:
        return kept.read_or_make(
            read=lambda _: map_arrays(kept.folder / FILE, json.loads((kept.folder / INDEX).read_text())),
            make=lambda: _write(kept, parts(), rows),
        )
    except NoRoom:
        why = f"they exceed what the cache may hold ({most_bytes() / 1e9:.1f} GB, FINETUNE_CACHE_GB) or the disk"
    except OSError as error:
        why = f"{kept.folder}: the cache cannot be used ({error.strerror}; FINETUNE_CACHE=FOLDER names another)"
    watch(Note(f"the tokens of {so_many(rows)} stay in memory, and the next run tokenizes again: {why}"))
    return None


def _write(kept: Entry, parts: Iterator[tuple[int, Arrays]], rows: int) -> None:
    """Writes an entry. Raises NoRoom where it does not fit into the cache."""
    done, places = 0, []
    with scratch_file(kept.folder / FILE) as scratch, scratch.open("wb") as file:
        for end, arrays in parts:
            size = sum(array.nbytes for array in arrays.values())
            if not kept.make_room(size * (rows - done) // (end - done)):  # if the rest is like this part
                raise NoRoom
            places.append(append_arrays(file, arrays))
            done = end
    write_atomically(kept.folder / INDEX, json.dumps(places))
    kept.seal([FILE, INDEX])


def _facts(task: Task, tokenizer: "PreTrainedTokenizerBase") -> str | None:
    """All that decides features but the rows and their length; None where it cannot be written down."""
    settings = {name: value for name, value in vars(task).items() if name not in NOT_ENCODED}
    libraries = {name: version(name) for name in ("numpy", "tokenizers", "transformers")}
    vocabulary = tokenizer_hash(tokenizer)
    try:
        kinds = [
            kind for kind in type(task).__mro__ if kind.__module__.partition(".")[0] not in sys.stdlib_module_names
        ]
        files = [Path(inspect.getfile(kind)) for kind in kinds]
        facts = [settings, libraries, vocabulary, _code(tuple(file.parent for file in files))]
        return None if vocabulary is None else json.dumps(facts, sort_keys=True)
    except (TypeError, OSError):  # an object among the settings, or a class without a file
        return None


@lru_cache(maxsize=8)
def _code(folders: tuple[Path, ...]) -> str:
    """A hash of the code of all task types and models, and of what is next to a task's own class."""
    own = {Path(folder): "**/*.py" for package in (models, task_types) for folder in package.__path__}
    digest = hashlib.sha256()
    for folder, files in {**dict.fromkeys(folders, "*.py"), **own}.items():
        for file in sorted(folder.glob(files)):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
