"""Adds words of a domain to a WordPiece vocabulary itself, and their vectors to its model.

Added tokens of the library would also be found inside other words; entries of the vocabulary are found by WordPiece.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.messages import so_many
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.tokenizers.word_counts import word_counts

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

LEAST_COUNT = 2  # of a word that is added
BY_TOKEN = re.compile(  # weights with a row for each token: embeddings, and the output layer of masked words
    r"(word_embeddings\.weight|(decoder|vocab_projector|lm_head)\.(weight|bias)|predictions\.bias)$"
)
EMBEDDINGS = "word_embeddings.weight"


@dataclass(frozen=True, kw_only=True)
class AddedWord:
    """A word with its count in the texts, and the ids of the pieces that it was split into."""

    word: str
    count: int
    pieces: tuple[int, ...]


def require_wordpiece(tokenizer: "PreTrainedTokenizerBase", model: str) -> None:
    """Raises UserError for a tokenizer of another kind."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    kind = "its own" if backend is None else json.loads(backend.to_str())["model"]["type"]
    if kind != "WordPiece":
        raise UserError(
            f"{model}: has a vocabulary of the kind {kind}, and `extend` is for WordPiece alone",
            "Name a model such as minilm or google-bert/bert-base-uncased",
        )


def words_to_add(texts: Iterable[str], backend: "Tokenizer", *, most: int, model: str) -> list[AddedWord]:
    """The most frequent words that the vocabulary splits, and knows all pieces of; of equal counts by their letters.

    Raises UserError where the texts have fewer than `most`.
    """
    counts = Counter[str]()
    for some in word_counts(texts, backend):
        counts.update(some)
    found: list[AddedWord] = []
    unknown = backend.token_to_id(json.loads(backend.to_str())["model"]["unk_token"])
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if count < LEAST_COUNT or len(found) == most:
            break
        pieces = tuple(token.id for token in backend.model.tokenize(word)) if any(map(str.isalpha, word)) else ()
        if len(pieces) > 1 and unknown not in pieces:
            found.append(AddedWord(word=word, count=count, pieces=pieces))
    if len(found) < most:
        raise UserError(
            f"the text has {so_many(len(found), 'word')} that occur twice and are split by {model}, and `size` is "
            f"+{most:,}",
            f"Give `size` +{len(found)} or less, or more text" if found else "Give more text",
        )
    return found


def extend(tokenizer: "PreTrainedTokenizerBase", words: Sequence[AddedWord]) -> int:
    """Adds words at the end of a tokenizer's vocabulary, and returns the id of the first."""
    from tokenizers import Tokenizer

    first: int = max(tokenizer.get_vocab().values()) + 1
    settings = json.loads(tokenizer.backend_tokenizer.to_str())
    settings["model"]["vocab"] |= {added.word: first + at for at, added in enumerate(words)}
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(settings))
    return first


def write_extended(folder: Path, target: Path, words: Sequence[AddedWord], first: int) -> None:
    """Writes a model's config and weights with a row for each word: the mean of its pieces' rows.

    Raises UserError for a model without weights in safetensors or without embeddings of words.
    """
    import torch
    from safetensors.torch import save_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    size = int(config["vocab_size"])
    weights = _weights(folder)
    if not any(name.endswith(EMBEDDINGS) and len(one) == size for name, one in weights.items()):
        raise UserError(f"{folder}: has no {EMBEDDINGS} of {size:,} rows", "Name an encoder such as minilm")
    for name, weight in weights.items():
        if BY_TOKEN.search(name) and len(weight) == size:
            rows = torch.stack([weight[list(word.pieces)].float().mean(0) for word in words]).to(weight.dtype)
            weights[name] = torch.cat([weight[:first], rows, weight[first + len(words) :]])
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    config["vocab_size"] = max(size, first + len(words))
    (target / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _weights(folder: Path) -> "dict[str, torch.Tensor]":
    from safetensors.torch import load_file

    files = sorted(folder.glob("model*.safetensors"))
    if not files:
        raise UserError(f"{folder}: has no model.safetensors", "Name an encoder, such as minilm")
    try:
        return {name: weight for file in files for name, weight in load_file(file).items()}
    except THEIRS:
        raise
    except Exception as error:  # safetensors raises its own for a damaged file
        raise UserError(f"{folder}: the weights cannot be read ({first_line(error)})", "Fetch it again") from error
