"""The files of a tokenizer that the user names: a folder, or a tokenizer.json alone."""

from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.paths import is_folder
from finetune.errors import THEIRS, UserError, first_line
from finetune.models.tokenizers.kinds import KINDS
from finetune.models.tokenizers.load import read_tokenizer
from finetune.models.tokenizers.sentencepiece import vocabulary_file

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TOKENIZER_JSON = "tokenizer.json"
PARTS = ("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model")


def tokenizer_files(given: Path) -> list[Path]:
    """The files of a tokenizer, which a folder or its tokenizer.json names. Raises UserError where there is none."""
    folder = given.parent if given.name == TOKENIZER_JSON else given
    if not is_folder(folder):
        raise UserError(f"tokenizer folder {folder} does not exist", "`finetune tokenizer TEXTS -o FOLDER` makes one")
    files = sorted({file for pattern in PARTS for file in folder.glob(pattern)})
    if not any(file.name in (TOKENIZER_JSON, "vocab.txt", "vocab.json") or file.suffix == ".model" for file in files):
        raise UserError(
            f"folder {folder} has no tokenizer (tokenizer.json, vocab.txt or a SentencePiece .model)",
            "`finetune tokenizer TEXTS -o FOLDER` makes one",
        )
    return files


def given_tokenizer(folder: Path, given: str) -> "PreTrainedTokenizerBase":
    """The tokenizer of a folder; of a tokenizer.json alone, with the special tokens of a kind that has them."""
    if (folder / "tokenizer_config.json").is_file() or vocabulary_file(folder):
        return read_tokenizer(folder)
    from transformers import PreTrainedTokenizerFast

    try:
        found = PreTrainedTokenizerFast(tokenizer_file=str(folder / TOKENIZER_JSON))
        known = set(found.get_vocab())
    except THEIRS:
        raise
    except Exception as error:  # a file of another form makes the library fail in any way
        raise UserError(
            f"{given}: the tokenizer cannot be loaded ({first_line(error)})",
            "`finetune tokenizer TEXTS -o FOLDER` makes one",
        ) from error
    special = next((kind.special for kind in KINDS.values() if {*kind.special.values()} <= known), None)
    if special is None:
        families = dict.fromkeys(" ".join(kind.special.values()) for kind in KINDS.values())
        raise UserError(
            f"{given}: has neither {' nor '.join(families)}",
            "`finetune tokenizer TEXTS -o FOLDER` makes a tokenizer that has them",
        )
    found.add_special_tokens(dict(special))
    return found
