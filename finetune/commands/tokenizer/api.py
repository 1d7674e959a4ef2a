"""`finetune.tokenizer`: a vocabulary trained on text, and how it splits held-out documents."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.quiet import plainly, quiet
from finetune.data.atomic import replace_folder, require_no_link, settle, temporary_folder
from finetune.data.checksums import CHECKSUMS, write_checksums
from finetune.data.documents import Documents, read_documents, split_documents
from finetune.data.messages import percent, so_many
from finetune.data.paths import exists, is_folder
from finetune.errors import THEIRS, UserError, first_line, nearest, shown_value
from finetune.models.pretrained import MINILM, resolve
from finetune.models.tokenizers.load import load_tokenizer
from finetune.models.tokenizers.train import KINDS, SIZE
from finetune.runs.events import Event, Note, Watcher, Working, unwatched

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedTokenizerBase

ABOUT = "tokenizer_training.json"  # how the tokenizer was made, and what marks the folder as one of ours
FILES = {ABOUT, CHECKSUMS, "tokenizer.json", "tokenizer_config.json"}
MOST_TOKENS = 10_000_000  # tokens of a vocabulary
MANY_TOKENS = 3  # tokens of a word that is split in many
WORDS = r"[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}\s]"  # a sign is a word, as in BERT
COLUMNS = ("vocabulary", "tokens", "tokens per word", "bytes per token", "unknown tokens", "words in 3 or more")


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """What `finetune.tokenizer` returns.

    Example: `finetune.tokenizer("corpus.txt", path="vocabulary").frame`

    Attributes:
        path: The folder, which `tokenizer=` of a run of a new encoder takes.
        documents: The numbers of documents that it was trained on, and that were held out.
        splits: How it and minilm's split the held-out documents: their figures by name, without the first column.
        notes: What to know of it.
    """

    path: Path
    documents: tuple[int, int]
    splits: Mapping[str, tuple[int, float, float, float, float]]
    notes: Sequence[str]

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each vocabulary: its size, tokens per word, bytes per token, and shares between 0 and 1."""
        import pandas as pd

        return pd.DataFrame([(name, *figures) for name, figures in self.splits.items()], columns=list(COLUMNS))

    @property
    def title(self) -> str:
        """What the figures are of."""
        return f"{so_many(self.documents[1], 'held-out document')}"

    def lines(self) -> list[tuple[str, ...]]:
        """The cells of `frame`, as they are shown."""
        return [
            (name, f"{tokens:,}", f"{per_word:.2f}", f"{per_token:.2f}", percent(unknown), percent(in_many))
            for name, (tokens, per_word, per_token, unknown, in_many) in self.splits.items()
        ]

    def __repr__(self) -> str:
        tokens, per_word, *_ = next(iter(self.splits.values()))
        return f"<Vocabulary of {tokens:,} tokens, {per_word:.2f} per word: {self.path}>"


@plainly
def tokenizer(
    corpus: str | Path | Sequence[str | Path],
    *,
    path: str | Path,
    size: int | str | None = None,
    kind: str = "wordpiece",
    cased: bool = False,
    text: str = "",
    encoding: str = "",
) -> Vocabulary:
    """Trains a vocabulary on text, and writes a folder.

    Example: `finetune.tokenizer("corpus.txt", path="vocabulary", size=4000)`

    Args:
        corpus: A file of text, several, or folders: .txt, .jsonl, .csv, .tsv or .parquet, also as .gz or .xz.
        path: The folder to write.
        size: The number of tokens, by default 8192.
        kind: `wordpiece`, `bpe` or `byte-bpe`.
        cased: Keep capitals and accents; those of BPE are always kept.
        text: The column of the texts of a table.
        encoding: The encoding of the text; default: it is detected.

    Returns:
        The folder, and how the vocabulary splits held-out documents, next to minilm's.

    Raises:
        UserError: For a corpus without text, a size that does not fit it, and a folder that holds anything else.
    """
    documents = read_documents(corpus, column=text, encoding=encoding)
    return write_vocabulary(documents, Path(path), size=size, kind=kind, cased=cased, watch=unwatched)


def write_vocabulary(
    corpus: Documents, path: Path, *, size: int | str | None, kind: str, cased: bool, watch: Watcher
) -> Vocabulary:
    """`tokenizer`, with a watcher of progress."""
    if kind not in KINDS:
        raise UserError(f"`kind` is {shown_value(kind)}", f"{nearest(str(kind), [*KINDS])}Give {', '.join(KINDS)}")
    _require_replaceable(path)
    tokens, notes = _size(size), list[str]()

    def seen(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
        watch(event)

    with quiet():
        from finetune.models.tokenizers.train import train_tokenizer

        train, held_out = split_documents(corpus)
        lines = [line for document in train for line in document.lines]
        trained = train_tokenizer(lines, size=tokens, kind=kind, lower=False if cased else None, watch=seen)
        about = {"text": train.fingerprint, "documents": len(train), "held_out": len(held_out)}
        _write(trained, path, about | {"kind": kind, "size": tokens, "cased": cased})
        watch(Working("splitting held-out documents"))
        texts = [document.text for document in held_out]
        splits = {"trained": _splits(trained, texts)}
        try:
            splits[MINILM] = _splits(load_tokenizer(resolve(MINILM).folder), texts)
        except UserError as error:
            seen(Note(f"not compared with minilm: {error}"))
    return Vocabulary(path=path, documents=(len(train), len(held_out)), splits=splits, notes=notes)


def _size(given: int | str | None) -> int:
    """The number of tokens."""
    text = str(SIZE if given is None else given).replace(",", "")
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= MOST_TOKENS):
        raise UserError(
            f"`size` is {shown_value(given)}", f"Give a number of tokens, such as {SIZE}, at most {MOST_TOKENS:,}"
        )
    return int(text)


def _require_replaceable(folder: Path) -> None:
    """Raises UserError, before any work, where a folder cannot be written, or holds anything else."""
    require_no_link(folder)
    if exists(folder) and not is_folder(folder):
        raise UserError(f"{folder}: is a file, and a folder is written", "Name another folder")
    names = {file.name for file in folder.iterdir()} if is_folder(folder) else set()
    if names and (ABOUT not in names or names - FILES):
        other = min(names - FILES, default=min(names))
        raise UserError(
            f"{folder}: is not empty and not a tokenizer of `finetune tokenizer` (it has {other})",
            "Name another folder, or remove this one",
        )


def _write(trained: "PreTrainedTokenizerBase", folder: Path, about: dict[str, Any]) -> None:
    """Writes a new folder in the place of `folder`, with checksums and what it is `about`.

    Raises UserError where it cannot be written.
    """
    _require_replaceable(folder)
    try:
        with temporary_folder(folder.absolute()) as scratch:
            trained.save_pretrained(scratch)
            (scratch / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            write_checksums(scratch)
            settle(scratch)
            replace_folder(scratch, folder.absolute())
    except (UserError, *THEIRS):
        raise
    except Exception as error:  # tokenizers raises nothing more specific where it cannot write
        raise UserError(f"{folder}: cannot be written ({first_line(error)})", "Choose another folder") from error


def _splits(tokenizer: "PreTrainedTokenizerBase", texts: list[str]) -> tuple[int, float, float, float, float]:
    """How a tokenizer splits texts, as in COLUMNS: words are counted alike for every vocabulary."""
    import regex

    words = Counter(word for text in texts for word in regex.findall(WORDS, text))
    ids, of_words = (
        tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"] for some in (texts, list(words))
    )
    tokens = sum(map(len, ids))
    unknown = 0 if tokenizer.unk_token_id is None else sum(one.count(tokenizer.unk_token_id) for one in ids)
    in_many = sum(count for count, own in zip(words.values(), of_words, strict=True) if len(own) >= MANY_TOKENS)
    size = sum(len(text.encode()) for text in texts)
    return len(tokenizer), tokens / words.total(), size / tokens, unknown / tokens, in_many / words.total()
