"""The sizes of new encoders, `new:mini` or `new:4x256`, and the learning rate that fits an encoder."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finetune.errors import UserError, nearest
from finetune.gone import gone
from finetune.runs.toml import NEW, is_new

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
MOST_WEIGHTS = 4_000_000_000  # in the layers
RATES = {"minilm": 1e-4}  # small encoders need a higher learning rate than the paper's
NARROW, NARROW_RATE = 384, 5e-4  # new encoders less wide learn nothing at the paper's


@dataclass(frozen=True, kw_only=True)
class EncoderSize:
    """The size of an encoder; the feed-forward layers are four times as wide."""

    layers: int
    width: int
    heads: int

    def config(self, tokenizer: "PreTrainedTokenizerBase") -> "PretrainedConfig":
        """The configuration for a tokenizer's vocabulary; its dropout is for fine-tuning."""
        from transformers import BertConfig

        from finetune.models.tokenizers.encoding import POSITIONS

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
    if parts[3] is None and width % HEAD_WIDTH:
        near = max(HEAD_WIDTH, round(width / HEAD_WIDTH) * HEAD_WIDTH)
        raise UserError(
            f"model '{name}': the width {width} is not divisible by {HEAD_WIDTH}, the width of a head",
            f"Choose new:{layers}x{near}, or name the number of heads: new:{layers}x{width}xHEADS",
        )
    if not width or not heads:
        raise UserError(f"model '{name}': has 0 width or heads", "Give each at least 1: new:4x256")
    if width % heads:
        raise UserError(f"model '{name}': {heads} heads do not divide the width {width}", "Choose other numbers")
    if (weights := 12 * layers * width**2) > MOST_WEIGHTS:
        remedy = f"Choose a smaller size, of at most {MOST_WEIGHTS:,}"
        raise UserError(f"model '{name}': its layers have {weights:,} weights", remedy)
    return EncoderSize(layers=layers, width=width, heads=heads)


def default_rate(encoder: str) -> float:
    """The learning rate for labelled data, by the encoder with which training began, also if a run trained it since."""
    if is_new(encoder) and size_of(encoder).width < NARROW:
        return NARROW_RATE
    return RATES.get(encoder, 2e-5)
