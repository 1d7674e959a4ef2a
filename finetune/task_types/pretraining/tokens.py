"""The token ids of a corpus in the cache, memory-mapped: made once per text and vocabulary, and resumed after a kill.

At most 2.2 bytes for a token of a usual line: an id of two bytes (four for vocabularies over 65,536), a bit that says
whether it starts a word, and two bytes a line. Special tokens are not stored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from finetune.data.documents import Document, Documents
from finetune.errors import UserError
from finetune.models.tokenizers.fingerprint import tokenizer_hash
from finetune.runs.events import Watcher, Working
from finetune.storage.array_file import mapped
from finetune.storage.cache import FACTS, Entry, entry, hash_of
from finetune.task_types.pretraining.encode_lines import line_encoder
from finetune.task_types.pretraining.token_writer import FILES, IDS, LINES, PROGRESS, STARTS, TokenWriter, line_bounds

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FORMAT = 1
CHARS_AT_ONCE, LINES_AT_ONCE = 1 << 20, 10_000  # characters and lines that are tokenized at once
SAVED = 1 << 23  # characters after which the progress is saved


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenFile:
    """The tokens of a corpus, `(tokens,)`, mostly on the disk.

    `ids` are token ids and `starts` packed bits, 1 where a token starts a word. Line i has the tokens
    [lines[i] : lines[i + 1]], and document i the lines [documents[i] : documents[i + 1]].
    """

    ids: np.ndarray
    starts: np.ndarray
    lines: np.ndarray
    documents: np.ndarray

    @cached_property
    def bounds(self) -> np.ndarray:
        """Document i has the tokens [bounds[i] : bounds[i + 1]]: `(documents + 1,)`."""
        return np.asarray(self.lines[self.documents])

    def word_starts(self, begin: int, end: int) -> np.ndarray:
        """Whether each of some tokens starts a word: `(end - begin,)`, bool."""
        bits = np.unpackbits(self.starts[begin >> 3 : (end + 7) >> 3])
        return np.asarray(bits[begin & 7 :][: end - begin], bool)

    def starts_word(self, positions: np.ndarray) -> np.ndarray:
        """Whether the tokens at these positions start a word, bool."""
        return np.asarray(self.starts[positions >> 3] >> (7 - (positions & 7)).astype(np.uint8) & 1, bool)


def token_file(documents: Documents, tokenizer: "PreTrainedTokenizerBase", watch: Watcher) -> TokenFile:
    """The tokens of all lines of some documents: from the cache, in which they are written if they are not there.

    A second process waits for the first. Raises UserError where they do not fit into the cache or on the disk, for a
    tokenizer that is not a fast one, and where the text changes.
    """
    vocabulary = tokenizer_hash(tokenizer)
    if vocabulary is None:
        raise UserError("the tokenizer of this encoder is not a fast one", "Name another model, or tokenizer=FOLDER")
    kept = entry("tokens", hash_of([FORMAT, documents.fingerprint, vocabulary, version("tokenizers")]))
    wide = len(tokenizer) > 1 << 16
    with kept.required():
        found = kept.read_or_make(
            read=lambda _: _opened(kept.folder, wide=wide),
            make=lambda: _write(kept, documents, tokenizer, watch, wide=wide),
        )
    if found is None or not len(found.ids):
        raise UserError(f"{documents.paths[0]}: the tokenizer finds no token in the text", "Is it the right file?")
    return found


def tokens_of(documents: Sequence[Document], tokenizer: "PreTrainedTokenizerBase") -> TokenFile:
    """The tokens of all lines of documents in memory, which stay there."""
    encoded = line_encoder(tokenizer)([line for document in documents for line in document.lines])
    return TokenFile(
        ids=encoded.ids,
        starts=np.packbits(encoded.starts),
        lines=np.cumsum([0, *encoded.lengths]),
        documents=np.cumsum([0, *(len(document.lines) for document in documents)]),
    )


def _opened(folder: Path, *, wide: bool) -> TokenFile:
    """The tokens of an entry."""
    id_kind, start_kind, line_kind = _kinds(wide=wide)
    ids, starts = mapped(folder / IDS, id_kind), mapped(folder / STARTS, start_kind)
    lines, documents = line_bounds(np.fromfile(folder / LINES, line_kind), tokens=len(ids))
    return TokenFile(ids=ids, starts=starts, lines=lines, documents=documents)


def _kinds(*, wide: bool) -> tuple[type, type, type]:
    return np.uint32 if wide else np.uint16, np.uint8, np.uint16


def _write(
    kept: Entry, documents: Documents, tokenizer: "PreTrainedTokenizerBase", watch: Watcher, *, wide: bool
) -> None:
    """Writes an entry from where an earlier process stopped."""
    folder, encode = kept.folder, line_encoder(tokenizer)
    if (folder / FACTS).exists():  # it is damaged, or of another version
        (folder / PROGRESS).unlink(missing_ok=True)
        (folder / FACTS).unlink()
    with TokenWriter(folder, _kinds(wide=wide)[0]) as writer:
        every = documents.survey
        total = every.size * len(documents) // len(every.hashes)
        unsaved = 0
        for lines, last in _batches(islice(_lines(documents), writer.done.lines, None)):
            watch(Working("tokenizing text", writer.done.documents, len(documents)))
            size = sum(len(line.encode()) + 1 for line in lines)
            writer.append(encode(lines), last, size)
            _require_room(kept, writer, total - writer.done.size)
            unsaved += size
            if unsaved >= SAVED:
                writer.save()
                unsaved = 0
        writer.save()
    kept.seal(FILES)
    (folder / PROGRESS).unlink()


def _lines(documents: Documents) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is its document's last."""
    for document in documents:
        last = len(document.lines) - 1
        yield from ((line, number == last) for number, line in enumerate(document.lines))


def _batches(lines: Iterator[tuple[str, bool]]) -> Iterator[tuple[list[str], list[bool]]]:
    """Lines that are tokenized at once."""
    some: list[str] = []
    last: list[bool] = []
    size = 0
    for line, is_last in lines:
        some.append(line)
        last.append(is_last)
        size += len(line)
        if size >= CHARS_AT_ONCE or len(some) >= LINES_AT_ONCE:
            yield some, last
            some, last, size = [], [], 0
    if some:
        yield some, last


def _require_room(kept: Entry, writer: TokenWriter, left: int) -> None:
    """Raises UserError where the rest of the text would not fit on the disk, at the tokens per byte so far."""
    need = int(writer.written / writer.done.size * max(0, left))
    kept.require_room(need, what=f"the tokens of the text need {need / 1e6:,.0f} MB more")
