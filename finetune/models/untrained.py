"""New encoders, `new:mini` or `new:4x256`: a BERT of that size for the vocabulary of a tokenizer; and how long texts an
encoder reads.

What is known before the weights are drawn (config and tokenizer) is a folder in the cache, so that all that reads a
model's folder reads this one too; the weights are drawn from `init_seed` when the model is built.
"""

from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.atomic import write_atomically
from finetune.data.checksums import sha256_of
from finetune.data.paths import is_file, is_folder
from finetune.errors import UserError
from finetune.models.encoder_size import size_of
from finetune.models.tokenizers.encoding import POSITIONS
from finetune.models.tokenizers.load import json_table, read_tokenizer
from finetune.runs.folder import RESULTS, with_results
from finetune.storage.cache import FACTS, LOCK, cache_folder, entry, hash_of

if TYPE_CHECKING:
    pass

LONG = {"answerdotai/ModernBERT-base": 8_192, "answerdotai/ModernBERT-large": 8_192}  # tokens, by names on the Hub
LONG_TEXTS = (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length"))
TOKENIZER_JSON = "tokenizer.json"
PARTS = ("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model")
VERSION = 2  # of the initialisation: another one makes other weights of the same seed


def longest_input(encoder: str) -> int:
    """Tokens of the longest text that an encoder is known to read, by its folder or its name; else those of BERT.

    Nothing is fetched for it, so that a run has the same settings before and after its encoder was.
    """
    folder = Path(encoder)
    if not is_file(folder / "config.json"):
        return LONG.get(encoder, POSITIONS)
    counts = [json_table(folder / file).get(name) for file, name in LONG_TEXTS]  # what is damaged, loading reports
    return max(POSITIONS, min((count for count in counts if isinstance(count, int) and count), default=POSITIONS))


def untrained_folder(name: str, tokenizer: str) -> tuple[Path, str]:
    """A folder with config and tokenizer but no weights, and a hash of size, tokenizer and initialisation.

    Raises UserError for a bad size, and without a tokenizer that can be used.
    """
    size = size_of(name)
    require_vocabulary(name, tokenizer)
    files = _tokenizer_files(Path(tokenizer).expanduser())
    fingerprint = hash_of([VERSION, *astuple(size), *((file.name, sha256_of(file)) for file in files)])
    saved = entry("untrained", fingerprint)

    def make() -> None:
        made = read_tokenizer(files[0].parent)
        made.save_pretrained(saved.folder)
        write_atomically(saved.folder / "config.json", size.config(made).to_json_string(use_diff=False))
        saved.seal([file.name for file in saved.folder.iterdir() if file.is_file() and file.name not in (FACTS, LOCK)])

    saved.ensure(make)
    return saved.folder, fingerprint


def require_vocabulary(name: str, tokenizer: str, *, texts: str = "TEXTS") -> None:
    """Raises UserError for an untrained encoder without a tokenizer, with the command that makes one of the texts."""
    if not tokenizer:
        train = with_results("tokenizer", texts, "-o", "vocabulary", out=RESULTS)
        raise UserError(
            f"model '{name}' needs a vocabulary",
            f"Train one from texts, `{train}`, and use it: model={name} tokenizer=vocabulary",
        )


def _tokenizer_files(path: Path) -> list[Path]:
    """The files of a tokenizer, which a folder or its tokenizer.json names. Raises UserError where there is none."""
    folder, remedy = path.parent if path.name == TOKENIZER_JSON else path, "`finetune tokenizer TEXTS -o FOLDER`"
    if not is_folder(folder):
        raise UserError(f"tokenizer folder {folder} does not exist", f"{remedy} makes one")
    files = sorted({file for pattern in PARTS for file in folder.glob(pattern)})
    if not any(file.name in (TOKENIZER_JSON, "vocab.txt", "vocab.json") or file.suffix == ".model" for file in files):
        raise UserError(
            f"folder {folder} has no tokenizer ({TOKENIZER_JSON}, vocab.txt or a SentencePiece .model)",
            f"{remedy} makes one",
        )
    return files


def is_untrained(folder: Path) -> bool:
    """Whether a folder is one that `untrained_folder` made: there are no weights in it."""
    return folder.parent == cache_folder("untrained")
