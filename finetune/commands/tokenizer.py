"""`finetune tokenizer`: a vocabulary trained on text, and how it splits held-out documents."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from finetune.analysis.table import Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.parameters import Cli, Setting
from finetune.data.atomic import replace_folder, require_no_link, settle, temporary_folder
from finetune.data.checksums import CHECKSUMS, write_checksums
from finetune.data.documents import read_documents, split_documents
from finetune.data.messages import percent, so_many
from finetune.data.paths import exists, is_folder
from finetune.errors import THEIRS, UserError, first_line, shown_value
from finetune.models.tokenizers.train import SIZE
from finetune.runs.events import Event, Note, Working

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ABOUT = "tokenizer_training.json"  # how the tokenizer was made, and what marks the folder as one of ours
FILES = {ABOUT, CHECKSUMS, "tokenizer.json", "tokenizer_config.json"}
MOST_TOKENS = 10_000_000  # tokens of a vocabulary
WORDS = r"[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}\s]"  # a sign is a word, as in BERT
Corpus = str | Path | Sequence[str | Path]


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """What `finetune.tokenizer` returns.

    Example: `finetune.tokenizer("corpus.txt", path="vocabulary").tokens_per_word`

    Attributes:
        path: The folder, which `tokenizer=` of a run of a new encoder takes.
        documents: The numbers of documents that it was trained on, and that were held out.
        tokens: How many it has.
        tokens_per_word: Of held-out documents.
        unknown: The share of their tokens that it lacks.
        notes: What to know of it.
    """

    path: Path
    documents: tuple[int, int]
    tokens: int
    tokens_per_word: float
    unknown: float
    notes: Sequence[str]

    def __repr__(self) -> str:
        return f"<Vocabulary of {self.tokens:,} tokens, {self.tokens_per_word:.2f} per word: {self.path}>"


@plainly
def tokenizer(
    *corpus: Annotated[Corpus, Cli(least=1, help="Files or folders of text; text=COLUMN for tables, encoding=NAME.")],
    path: Annotated[str | Path, Cli(names=("-o", "--output"))],
    size: int | str | None = None,
    cased: bool = False,
    text: Setting = "",
    encoding: Setting = "",
) -> Vocabulary:
    """Trains a WordPiece vocabulary on text, and writes a folder.

    Example: `finetune.tokenizer("corpus.txt", path="vocabulary", size=4000)`

    Args:
        *corpus: Files or folders of text: .txt, .jsonl, .csv, .tsv or .parquet, also as .gz or .xz.
        path: The folder to write.
        size: The number of tokens, by default 8192.
        cased: Keep capitals and accents.
        text: The column of the texts of a table.
        encoding: The encoding of the text; default: it is detected.

    Returns:
        The folder, and how the vocabulary splits held-out documents.

    Raises:
        UserError: For a corpus without text, a size that does not fit it, and a folder that holds anything else.
    """
    paths = [path for part in corpus for path in ([part] if isinstance(part, str | Path) else part)]
    documents = read_documents(paths, column=text, encoding=encoding)
    folder, tokens, notes = Path(path), _size(size), list[str]()
    _require_replaceable(folder)
    with here().working("") as watch:
        import regex

        from finetune.models.tokenizers.train import train_tokenizer

        def seen(event: Event) -> None:
            notes.extend([event.text] if isinstance(event, Note) else ())
            watch(event)

        train, held_out = split_documents(documents)
        lines = [line for document in train for line in document.lines]
        trained = train_tokenizer(lines, size=tokens, lower=not cased, watch=seen)
        about = {"text": train.fingerprint, "documents": len(train), "held_out": len(held_out)}
        _write(trained, folder, about | {"kind": "wordpiece", "size": tokens, "cased": cased})
        watch(Working("splitting held-out documents"))
        texts = [document.text for document in held_out]
        ids = [token_id for of_text in trained(texts, add_special_tokens=False)["input_ids"] for token_id in of_text]
        words = sum(len(regex.findall(WORDS, text)) for text in texts)
    return Vocabulary(
        path=folder, documents=(len(train), len(held_out)), tokens=len(trained), tokens_per_word=len(ids) / words,
        unknown=ids.count(trained.unk_token_id) / len(ids), notes=notes,
    )  # fmt: skip


def _size(size: int | str | None) -> int:
    text = str(SIZE if size is None else size).replace(",", "")
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= MOST_TOKENS):
        remedy = f"Give a number of tokens, such as {SIZE}, at most {MOST_TOKENS:,}"
        raise UserError(f"`size` is {shown_value(size)}", remedy)
    return int(text)


def _require_replaceable(folder: Path) -> None:
    """Raises UserError where a folder cannot be written, or holds anything else."""
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


def as_json(vocabulary: Vocabulary) -> Iterator[dict[str, Any]]:
    """`path`, `documents`: read and held out, `tokens`, `tokens_per_word` and share `unknown` of held-out text,
    `notes`.
    """
    yield vars(vocabulary)


def shown(vocabulary: Vocabulary) -> Iterator[Part]:
    """How many tokens it has, and how it splits held-out text."""
    trained, held_out = vocabulary.documents
    yield f"{so_many(trained, 'document')}, {so_many(vocabulary.tokens, 'token')} -> {vocabulary.path}"
    split = f"{vocabulary.tokens_per_word:.2f} tokens per word, {percent(vocabulary.unknown)} unknown"
    yield f"{so_many(held_out, 'held-out document')}: {split}"
