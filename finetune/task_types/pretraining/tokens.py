"""The token ids of documents: tokenized once per text and vocabulary, then memory-mapped from the cache."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.atomic import scratch_file
from finetune.data.documents import Document, Documents
from finetune.errors import UserError
from finetune.models.tokenizers.fingerprint import tokenizer_hash
from finetune.runs.events import Watcher, Working, unwatched
from finetune.storage.cache import Facts, entry, hash_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FORMAT = 3  # in 2, all arrays were in one file
CHARS_AT_ONCE = 1 << 20  # characters that are tokenized together


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """The tokens of documents without special tokens: `ids` and `starts` (whether each starts a word), `(tokens,)`.

    Line i has the tokens [lines[i] : lines[i + 1]], and document i the lines [documents[i] : documents[i + 1]].
    """

    ids: np.ndarray
    starts: np.ndarray
    lines: np.ndarray
    documents: np.ndarray

    @cached_property
    def bounds(self) -> np.ndarray:
        """Document i has the tokens [bounds[i] : bounds[i + 1]]: `(documents + 1,)`."""
        return np.asarray(self.lines[self.documents])


def cached_tokens(documents: Documents, tokenizer: "PreTrainedTokenizerBase", watch: Watcher) -> Tokens:
    """The tokens of a corpus, memory-mapped from the cache, in which they are written if they are not there; where they
    do not fit, in memory.

    A second process waits for the first. Raises UserError for a tokenizer that is not a fast one, and for text without
    any token.
    """
    vocabulary = tokenizer_hash(tokenizer)
    if vocabulary is None:
        raise UserError("the tokenizer of this encoder is not a fast one", "Name another model, or tokenizer=FOLDER")
    kept = entry("tokens", hash_of([FORMAT, documents.fingerprint, vocabulary, version("tokenizers")]))
    made: list[Tokens] = []

    def read(_: Facts) -> Tokens:
        files = {name: np.load(kept.folder / f"{name}.npy", mmap_mode="r") for name in Tokens.__dataclass_fields__}
        return Tokens(**{name: array.view(np.ndarray) for name, array in files.items()})

    def make() -> None:
        made.append(tokens_of(documents, tokenizer, watch))
        arrays = {f"{name}.npy": getattr(made[0], name) for name in Tokens.__dataclass_fields__}
        if len(made[0].ids) and kept.make_room(sum(array.nbytes for array in arrays.values())):
            for name, array in arrays.items():
                with scratch_file(kept.folder / name) as scratch, scratch.open("wb") as file:
                    np.save(file, array)
            kept.seal([*arrays])

    try:
        found = kept.read_or_make(read, make)
    except OSError:  # the cache cannot be used
        found = None
    found = found or (made[0] if made else tokens_of(documents, tokenizer, watch))
    if not len(found.ids):
        raise UserError(f"{documents.paths[0]}: the tokenizer finds no token in the text", "Is it the right file?")
    return found


def tokens_of(
    documents: Sequence[Document], tokenizer: "PreTrainedTokenizerBase", watch: Watcher = unwatched
) -> Tokens:
    """The tokens of documents, in memory."""
    kind = np.uint32 if len(tokenizer) > 1 << 16 else np.uint16
    found: list[list[np.ndarray]] = [[np.zeros(0, kind)], [np.zeros(0, bool)], [np.zeros(0, np.int64)]]
    lines_of = list[int]()
    for some in _parts(documents):
        watch(Working("tokenizing text", len(lines_of), len(documents)))
        encoded = _encoded(tokenizer.backend_tokenizer, [line for document in some for line in document.lines])
        for parts, part in zip(found, encoded, strict=True):
            parts.append(part.astype(parts[0].dtype))
        lines_of += [len(document.lines) for document in some]
    ids, starts, lengths = map(np.concatenate, found)
    return Tokens(
        ids=ids,
        starts=starts,
        lines=np.cumsum([0, *lengths]),
        documents=np.cumsum([0, *lines_of]),
    )


def _parts(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents that are tokenized together."""
    some, size = list[Document](), 0
    for document in documents:
        some.append(document)
        size += sum(map(len, document.lines))
        if size >= CHARS_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _encoded(backend: Any, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Token ids, whether each starts a word, and the number of tokens of each line."""
    encoded = backend.encode_batch(lines, add_special_tokens=False)
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    ids = np.fromiter(chain.from_iterable(one.ids for one in encoded), np.int64)
    words = np.fromiter(chain.from_iterable(one.word_ids for one in encoded), np.int64)
    starts = np.diff(words, prepend=-1) != 0
    starts[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
    return ids, starts, lengths
