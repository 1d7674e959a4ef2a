"""The vocabulary of a new encoder that was given none: trained on the text once, and kept in the cache."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from finetune.errors import UserError
from finetune.models.tokenizers.train import train_tokenizer
from finetune.runs.events import Event, Note, Watcher
from finetune.runs.recipe import Recipe, is_new
from finetune.storage.cache import FACTS, Entry, entry, hash_of

FORMAT = 1
SIZE = 8192  # tokens


def trained_size(recipe: Recipe) -> int:
    """The wanted size of the vocabulary to train first; 0 for a run that trains none."""
    return 0 if recipe.tokenizer_folder or not is_new(recipe.model) else int(recipe.tokenizer or SIZE)


def own_vocabulary(lines: Sequence[str], *, content: str, size: int, watch: Watcher) -> Path:
    """The folder of a WordPiece of `size` tokens, or of fewer where the lines have words for no more; `content` is a
    hash of the text.

    Raises UserError where the cache cannot be written, and where none can be trained.
    """
    kept = entry("vocabularies", hash_of([FORMAT, size, content, version("tokenizers")]))
    with kept.required():
        kept.read_or_make(read=dict, make=lambda: _train(lines, kept, size, watch))
    return kept.folder


def training_notes(folder: Path, tokens: int, fingerprint: str | None, *, size: int) -> list[str]:
    """What a run says about the vocabulary in a folder of so many tokens, of which `size` were wanted, and what its
    training said.
    """
    fewer = f", fewer than {size:,} since the text has no more words" if tokens < size else ""
    named = f" ({fingerprint[:10]})" if fingerprint else ""
    training = (Entry(folder).facts() or {}).get("notes", [])
    return [f"the vocabulary was trained on the text: WordPiece{named} of {tokens:,} tokens{fewer}", *training]


def _train(lines: Sequence[str], kept: Entry, size: int, watch: Watcher) -> None:
    """Writes an entry. Raises UserError with what to do instead."""
    notes: list[str] = []

    def noting(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
        else:
            watch(event)

    try:
        trained = train_tokenizer(lines, size=size, least=0, watch=noting)
    except UserError as error:
        remedy = f"{error.way_out}; or name the folder of a vocabulary: finetune tokenizer TEXTS -o vocabulary"
        raise UserError(
            f"no vocabulary can be trained: {error.what}".replace("`size`", "tokenizer"),
            remedy.replace("`size` ", "tokenizer="),
        ) from error
    trained.save_pretrained(kept.folder)
    files = {file.name for file in kept.folder.glob("*.json")} - {FACTS}
    kept.seal(files, tokens=len(trained), notes=notes)
