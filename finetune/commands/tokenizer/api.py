"""`finetune.tokenizer`: a vocabulary trained on text, or a model's vocabulary with words of the text."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.quiet import plainly, quiet
from finetune.commands.tokenizer.splits import Splits, first_texts, splits_of
from finetune.commands.tokenizer.vocabulary import Vocabulary
from finetune.data.atomic import require_no_link, settle, sync, temporary_folder
from finetune.data.checksums import CHECKSUMS, write_checksums
from finetune.data.documents import Documents, split_documents
from finetune.data.paths import exists, is_folder
from finetune.errors import THEIRS, UserError, first_line, nearest, shown_value
from finetune.models.pretrained import MINILM, resolve
from finetune.models.tokenizers.kinds import KINDS
from finetune.models.tokenizers.load import load_tokenizer
from finetune.models.tokenizers.own_vocabulary import SIZE
from finetune.runs.events import Event, Note, Watcher, Working, unwatched

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ABOUT = "tokenizer_training.json"  # how the tokenizer was made, and what marks the folder as one of ours
FILES = {ABOUT, CHECKSUMS, "tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"}
MOST_TOKENS = 10_000_000  # tokens of a vocabulary


@plainly
def tokenizer(
    corpus: str | Path | Sequence[str | Path],
    *,
    path: str | Path,
    size: int | str | None = None,
    kind: str = "wordpiece",
    cased: bool = False,
    extend: str | None = None,
    text: str = "",
    encoding: str = "",
) -> Vocabulary:
    """Trains a vocabulary on text, or adds the text's frequent words to a model's, and writes a folder.

    Example: `finetune.tokenizer("corpus.txt", path="vocabulary", size=4000)`

    Args:
        corpus: A file of text, several, or folders: .txt, .jsonl, .csv, .tsv or .parquet, also as .gz or .xz.
        path: The folder to write.
        size: The number of tokens, by default 8192; with `extend` the number of words that are added, as `"+2000"`.
        kind: `wordpiece`, `bpe` or `byte-bpe`.
        cased: Keep capitals and accents; those of BPE are always kept.
        extend: The model to whose WordPiece vocabulary words are added, with vectors: a folder, `minilm` or a Hub name.
        text: The column of the texts of a table.
        encoding: The encoding of the text; default: it is detected.

    Returns:
        The folder, and how the vocabulary splits held-out documents, next to minilm's or that of the model.

    Raises:
        UserError: For a corpus without text, a size that does not fit it, a model without WordPiece, and a folder that
            holds anything else.
    """
    wanted = wanted_tokenizer(path, size=size, kind=kind, cased=cased, extend=extend)
    return write_tokenizer(wanted, Documents(corpus, column=text, encoding=encoding), watch=unwatched)


@dataclass(frozen=True, kw_only=True)
class WantedTokenizer:
    """The vocabulary to train and its output; `size` is a number of new words where `extend` is given."""

    path: Path
    size: int
    kind: str
    cased: bool
    extend: str | None


def wanted_tokenizer(
    path: str | PathLike[str], *, size: int | str | None, kind: str, cased: bool, extend: str | None
) -> WantedTokenizer:
    """Settings that fit together. Raises UserError for others, before anything is read."""
    if kind not in KINDS:
        raise UserError(f"`kind` is {shown_value(kind)}", f"{nearest(str(kind), [*KINDS])}Give {', '.join(KINDS)}")
    if extend is not None and (kind != "wordpiece" or cased):
        other = "cased" if cased else "kind"
        raise UserError(f"`extend` keeps the rules of {extend}'s vocabulary, and `{other}` is given", "Leave one out")
    require_replaceable(Path(path), reads=extend or "")
    number = _size(size, extend)
    return WantedTokenizer(path=Path(path), size=number, kind=kind, cased=cased, extend=extend)


def _size(given: int | str | None, extend: str | None) -> int:
    """The number of tokens, or of words that are added."""
    text = str(given if given is not None else "" if extend else SIZE).replace(",", "")
    digits = text.removeprefix("+")
    is_number = digits.isascii() and digits.isdecimal() and 0 < int(digits[:20]) <= MOST_TOKENS
    if extend and not (is_number and text.startswith("+")):
        what = (
            f"`size` is {shown_value(given)}"
            if given is not None
            else f"`extend` adds words to the vocabulary of {extend}"
        )
        raise UserError(f"{what}", "Give `size` +2000 for the 2,000 most frequent words that it splits")
    if not is_number:
        raise UserError(
            f"`size` is {shown_value(given)}", f"Give a number of tokens, such as {SIZE}, at most {MOST_TOKENS:,}"
        )
    if text.startswith("+") and not extend:
        raise UserError(
            f"`size` is {given}, which adds words to a vocabulary", f"Name the model's: `extend` {MINILM}, or a number"
        )
    return int(digits)


def write_tokenizer(wanted: WantedTokenizer, corpus: Documents, *, watch: Watcher) -> Vocabulary:
    """Trains and writes, with a watcher of progress."""
    notes: list[str] = []

    def seen(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
        watch(event)

    with quiet():
        watch(Working("reading the corpus"))
        train, held_out = split_documents(corpus)
        about: dict[str, Any] = {"text": train.fingerprint, "documents": len(train), "held_out": len(held_out)}
        work = _trained if wanted.extend is None else _extended
        own, added = work(wanted, train, about, seen)
        watch(Working("splitting held-out documents"))
        texts = first_texts(document.text for document in held_out)
        splits = {"trained" if wanted.extend is None else "extended": splits_of(own, texts)}
        splits |= _of_model(wanted.extend or MINILM, texts, seen)
    return Vocabulary(path=wanted.path, added=added, documents=(len(train), len(texts)), splits=splits, notes=notes)


def _trained(
    wanted: WantedTokenizer, train: Documents, about: dict[str, Any], watch: Watcher
) -> "tuple[PreTrainedTokenizerBase, list[str]]":
    from finetune.models.tokenizers.train import train_tokenizer

    def texts() -> Iterator[str]:
        return (document.text for document in train)

    lower = False if wanted.cased else None
    trained = train_tokenizer(texts, size=wanted.size, kind=wanted.kind, lower=lower, watch=watch)
    with replaced(wanted.path, about | {"kind": wanted.kind, "size": wanted.size, "cased": wanted.cased}) as folder:
        trained.save_pretrained(folder)
    return trained, []


def _extended(
    wanted: WantedTokenizer, train: Documents, about: dict[str, Any], watch: Watcher
) -> "tuple[PreTrainedTokenizerBase, list[str]]":
    from finetune.commands.tokenizer.extend import extend, require_wordpiece, words_to_add, write_extended
    from finetune.models.tokenizers.fingerprint import forget_use
    from finetune.models.tokenizers.train import watched

    assert wanted.extend is not None
    weights = resolve(wanted.extend)
    base = load_tokenizer(weights.folder)
    require_wordpiece(base, wanted.extend)
    texts = watched((document.text for document in train), "counting words", watch)
    words = words_to_add(texts, base.backend_tokenizer, most=wanted.size, model=wanted.extend)
    first = extend(base, words)
    facts = {"extended": wanted.extend, "fingerprint": weights.fingerprint, "words": [asdict(word) for word in words]}
    with replaced(wanted.path, about | facts) as folder:
        write_extended(weights.folder, folder, words, first)
        forget_use(base)
        base.save_pretrained(folder)
    return base, [word.word for word in words]


def _of_model(model: str, texts: Sequence[str], watch: Watcher) -> dict[str, Splits]:
    """How a model's vocabulary splits texts; empty, with a note, where minilm is not installed."""
    try:
        folder = resolve(model).folder
    except UserError as error:
        if model != MINILM:
            raise
        watch(Note(f"not compared with minilm: {error}"))
        return {}
    return {model: splits_of(load_tokenizer(folder), texts)}


def require_replaceable(folder: Path, *, reads: str = "") -> None:
    """Raises UserError, before any work, where a folder cannot be written, is what is read, or holds anything else."""
    require_no_link(folder)
    if reads and folder.resolve() == Path(reads).resolve():
        raise UserError(f"{folder}: output would overwrite the input", "Name another folder")
    if exists(folder) and not is_folder(folder):
        raise UserError(f"{folder}: is a file, and a folder is written", "Name another folder")
    names = {file.name for file in folder.iterdir()} if is_folder(folder) else set()
    if names and (ABOUT not in names or names - FILES):
        other = min(names - FILES, default=min(names))
        raise UserError(
            f"{folder}: is not empty and not a tokenizer of `finetune tokenizer` (it has {other})",
            "Name another folder, or remove this one",
        )


@contextmanager
def replaced(folder: Path, about: dict[str, Any]) -> Iterator[Path]:
    """Yields a new folder that takes the place of `folder` at the end, with checksums and what it is `about`.

    Raises UserError where it cannot be written.
    """
    require_replaceable(folder)
    try:
        with temporary_folder(folder.absolute()) as scratch:
            yield scratch
            (scratch / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            write_checksums(scratch)
            settle(scratch)
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
            sync(folder.absolute().parent)
    except (UserError, *THEIRS):
        raise
    except Exception as error:  # tokenizers raises nothing more specific where it cannot write
        raise UserError(f"{folder}: cannot be written ({first_line(error)})", "Choose another folder") from error
