"""The token ids of documents, in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.documents import Document
from finetune.errors import UserError
from finetune.runs.events import Watcher, Working, unwatched

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


def tokens_of(
    documents: Sequence[Document], tokenizer: "PreTrainedTokenizerBase", watch: Watcher = unwatched
) -> Tokens:
    """The tokens of documents. Raises UserError for a tokenizer that is not a fast one, and for text without tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise UserError("the tokenizer of this encoder is not a fast one", "Name another model, or tokenizer=FOLDER")
    kind = np.uint32 if len(tokenizer) > 1 << 16 else np.uint16
    found: list[list[np.ndarray]] = [[np.zeros(0, kind)], [np.zeros(0, bool)], [np.zeros(0, np.int64)]]
    lines_of = list[int]()
    for some in _parts(documents):
        watch(Working("tokenizing text", len(lines_of), len(documents)))
        encoded = _encoded(backend, [line for document in some for line in document.lines])
        for parts, part in zip(found, encoded, strict=True):
            parts.append(part.astype(parts[0].dtype))
        lines_of += [len(document.lines) for document in some]
    ids, starts, lengths = map(np.concatenate, found)
    if not len(ids):
        raise UserError("the tokenizer finds no token in the text to train on", "Is it the right file?")
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
