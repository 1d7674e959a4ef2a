"""The sizes of new encoders, `new:mini` or `new:4x256`: a BERT of that size for the vocabulary of a tokenizer; and how
long the texts are that a pretrained one reads.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.paths import is_file, read_small
from finetune.errors import UserError, nearest
from finetune.gone import gone
from finetune.runs.recipe import NEW

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
SPREAD, BASE_WIDTH = 0.02, 768  # of the weights of BERT base; outputs are as large at other widths
POSITIONS = 512  # tokens of the longest input
LONG = {"answerdotai/ModernBERT-base": 8_192, "answerdotai/ModernBERT-large": 8_192}  # tokens, by names on the Hub
LONG_TEXTS = (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length"))
MOST_BYTES = 10_000_000  # of a file of settings
MOST_WEIGHTS = 4_000_000_000  # in the layers


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
            initializer_range=SPREAD * (BASE_WIDTH / self.width) ** 0.5,
        )


def size_of(name: str) -> EncoderSize:
    """The size of `new:mini`, `new:4x256` or `new:6x768x3`. Raises UserError for any other."""
    given = name.removeprefix(NEW)
    _, *forms = given.split("-")
    if taken_out := next(filter(None, (gone(f"-{form}") for form in forms)), None):
        raise taken_out
    parts = re.fullmatch(r"(\d{1,6})x(\d{1,6})(?:x(\d{1,6}))?", SIZES.get(given, given))
    if parts is None:
        raise UserError(
            f"model '{name}': there is no size '{given}'",
            f"{nearest(given, list(SIZES))}Choose among {', '.join(SIZES)}, or LAYERSxWIDTH[xHEADS] such as new:4x256",
        )
    layers, width = int(parts[1]), int(parts[2])
    heads = _default_heads(name, layers, width) if parts[3] is None else int(parts[3])
    if not layers or not width or not heads:
        raise UserError(f"model '{name}': has 0 layers, width or heads", "Give each at least 1: new:4x256")
    if width % heads:
        raise UserError(f"model '{name}': {heads} heads do not divide the width {width}", "Choose other numbers")
    if 12 * layers * width**2 > MOST_WEIGHTS:
        raise UserError(
            f"model '{name}': its layers have {12 * layers * width**2:,} weights",
            f"Choose a smaller size, of at most {MOST_WEIGHTS:,}",
        )
    return EncoderSize(layers=layers, width=width, heads=heads)


def longest_input(encoder: str) -> int:
    """Tokens of the longest text that an encoder is known to read, by its folder or its name; else those of BERT.

    Nothing is fetched for it, so that a run has the same settings before and after its encoder was.
    """
    folder = Path(encoder)
    if not is_file(folder / LONG_TEXTS[0][0]):
        return LONG.get(encoder, POSITIONS)
    counts = [_saved_count(folder / file, name) for file, name in LONG_TEXTS]
    return max(POSITIONS, min((count for count in counts if count), default=POSITIONS))


def _saved_count(file: Path, name: str) -> int:
    """A number of tokens in a file of settings; 0 where it has none, or cannot be read, which loading reports."""
    try:
        found = json.loads(read_small(file, most=MOST_BYTES)).get(name)
    except (UserError, ValueError, RecursionError, AttributeError):
        return 0
    return found if isinstance(found, int) else 0


def _default_heads(name: str, layers: int, width: int) -> int:
    if width % HEAD_WIDTH:
        near = max(HEAD_WIDTH, round(width / HEAD_WIDTH) * HEAD_WIDTH)
        raise UserError(
            f"model '{name}': the width {width} is not divisible by {HEAD_WIDTH}, the width of a head",
            f"Choose new:{layers}x{near}, or name the number of heads: new:{layers}x{width}xHEADS",
        )
    return width // HEAD_WIDTH
