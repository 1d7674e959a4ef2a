"""New encoders, `new:mini` or `new:4x256`: a BERT of that size for the vocabulary of a tokenizer. Also the learning
rate and the longest input of any encoder.

Config and tokenizer of a new encoder are a folder in the cache, which is read as any model's folder; weights are drawn
from `init_seed` when the model is built.
"""

import re
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.atomic import write_atomically
from finetune.data.checksums import sha256_of
from finetune.data.paths import is_file, is_folder
from finetune.errors import UserError, nearest
from finetune.gone import gone
from finetune.models.tokenizers.encoding import POSITIONS
from finetune.models.tokenizers.load import json_table, read_tokenizer
from finetune.runs.folder import RESULTS, with_results
from finetune.runs.settings import NEW, is_new
from finetune.storage.cache import FACTS, LOCK, cache_folder, entry, hash_of

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

SIZES = {
    "tiny": "2x128",
    "mini": "4x256",
    "small": "4x512",
    "medium": "8x512",
    "base": "12x768",
    "large": "24x1024",
}  # layers x width, as in google-research/bert
HEAD_WIDTH = 64
SPREAD, BASE_WIDTH = 0.02, 768  # standard deviation of weights, and width, of BERT base
MOST_WEIGHTS = 4_000_000_000  # in the layers
RATES = {"minilm": 1e-4}  # small encoders need a higher learning rate than the paper's
NARROW, NARROW_RATE = 384, 5e-4  # new encoders of a smaller width learn nothing at the paper's rate


@dataclass(frozen=True, kw_only=True)
class EncoderSize:
    """The size of an encoder; the feed-forward layers are four times as wide."""

    layers: int
    width: int
    heads: int

    def config(self, tokenizer: "PreTrainedTokenizerBase") -> "PretrainedConfig":
        """The configuration for a tokenizer's vocabulary; its dropout is for fine-tuning."""
        from transformers import BertConfig

        return BertConfig(
            vocab_size=max(tokenizer.get_vocab().values()) + 1,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=4 * self.width,
            max_position_embeddings=POSITIONS,
            pad_token_id=tokenizer.pad_token_id,
            initializer_range=SPREAD * (BASE_WIDTH / self.width) ** 0.5,  # so that outputs are as large as BERT base's
        )


def size_of(name: str) -> EncoderSize:
    """The size of `new:mini`, `new:4x256` or `new:6x768x3`. Raises UserError for any other."""
    size = name.removeprefix(NEW)
    if taken_out := next(filter(None, (gone(f"-{form}") for form in size.split("-")[1:])), None):
        raise taken_out
    parts = re.fullmatch(r"(\d{1,6})x(\d{1,6})(?:x(\d{1,6}))?", SIZES.get(size, size))
    if parts is None:
        raise UserError(
            f"model '{name}': there is no size '{size}'",
            f"{nearest(size, list(SIZES))}Choose among {', '.join(SIZES)}, or LAYERSxWIDTH[xHEADS] such as new:4x256",
        )
    layers, width = int(parts[1]), int(parts[2])
    heads = int(parts[3] or width // HEAD_WIDTH)
    if not width or not heads or width % (heads if parts[3] else HEAD_WIDTH):
        near = max(HEAD_WIDTH, round(width / HEAD_WIDTH) * HEAD_WIDTH)
        raise UserError(
            f"model '{name}': the width {width} is not divisible by {parts[3] or f'{HEAD_WIDTH}, the width of a head'}",
            f"Choose new:{layers}x{near}, or name a number of heads that divides it: new:{layers}x{width}xHEADS",
        )
    if (weights := 12 * layers * width**2) > MOST_WEIGHTS:
        remedy = f"Choose a smaller size, of at most {MOST_WEIGHTS:,}"
        raise UserError(f"model '{name}': its layers have {weights:,} weights", remedy)
    return EncoderSize(layers=layers, width=width, heads=heads)


def default_rate(encoder: str) -> float:
    """The learning rate for labelled data, by the encoder with which training began, whatever runs came between."""
    if is_new(encoder) and size_of(encoder).width < NARROW:
        return NARROW_RATE
    return RATES.get(encoder, 2e-5)


LONG = {"answerdotai/ModernBERT-base": 8_192, "answerdotai/ModernBERT-large": 8_192}  # tokens, by names on the Hub
LONG_TEXTS = (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length"))
TOKENIZER_JSON = "tokenizer.json"
PARTS = ("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model")
VERSION = 2  # of the initialisation: another one makes other weights of the same seed


def longest_input(encoder: str) -> int:
    """The most tokens of an input, by an encoder's folder or its name; of an unknown encoder BERT's.

    Nothing is fetched to find out: a run must have the same settings before and after its encoder was fetched.
    """
    folder = Path(encoder)
    if not is_file(folder / "config.json"):
        return LONG.get(encoder, POSITIONS)
    counts = [json_table(folder / file).get(name) for file, name in LONG_TEXTS]  # loading reports damaged files
    return max(POSITIONS, min((count for count in counts if isinstance(count, int) and count), default=POSITIONS))


def untrained_folder(name: str, tokenizer: str) -> tuple[Path, str]:
    """A folder with config and tokenizer but no weights, and a hash of size, tokenizer and initialisation.

    `tokenizer` is a folder. Raises UserError for a wrong size, and without a tokenizer that can be used.
    """
    size = size_of(name)
    require_vocabulary(name, tokenizer)
    files = _tokenizer_files(Path(tokenizer).expanduser())
    fingerprint = hash_of([VERSION, *astuple(size), *((file.name, sha256_of(file)) for file in files)])
    saved = entry("untrained", fingerprint)

    def make() -> None:
        tokenizer = read_tokenizer(files[0].parent)
        tokenizer.save_pretrained(saved.folder)
        write_atomically(saved.folder / "config.json", size.config(tokenizer).to_json_string(use_diff=False))
        saved.seal([file.name for file in saved.folder.iterdir() if file.is_file() and file.name not in (FACTS, LOCK)])

    saved.ensure(make)
    return saved.folder, fingerprint


def require_vocabulary(name: str, tokenizer: str, *, texts: str = "TEXTS") -> None:
    """Raises UserError for an untrained encoder without a tokenizer; it names the command that makes one of `texts`."""
    if not tokenizer:
        train = with_results("tokenizer", texts, "-o", "vocabulary", out=RESULTS)
        raise UserError(
            f"model '{name}' needs a vocabulary",
            f"Train one from texts, `{train}`, and use it: model={name} tokenizer=vocabulary",
        )


def _tokenizer_files(path: Path) -> list[Path]:
    """The files of a tokenizer in a folder, or next to a tokenizer.json. Raises UserError where there is none."""
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
    """Whether `untrained_folder` made this folder, which has no weights."""
    return folder.parent == cache_folder("untrained")
