"""The encoder that a page shows, and a text as it reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from finetune.data.characters import shown_jamo
from finetune.errors import UserError
from finetune.inference.predictor import saved
from finetune.models.families import takes_segments
from finetune.models.model_folder import load_encoder
from finetune.models.tokenizers.load import load_tokenizer

EAGER = "eager"  # the only attention that returns weights
PART = "\ufffd"  # what a decoder gives for bytes that are a part of a character
MOST_TOKENS = 64
MOST_WEIGHTS = 600_000  # attention weights on a page


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """An encoder with its tokenizer, in evaluation mode on the CPU; `folder` has its files."""

    name: str
    folder: Path
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase

    def encode(self, texts: Sequence[str]) -> dict[str, Any]:
        """A text or a pair as tensors of one sequence. Raises UserError for an empty one, and for too many tokens."""
        if not all(text.strip() for text in texts):
            raise UserError("the text is empty", "Give it at least one word")
        encoded = self.tokenizer(*texts, return_tensors="pt", verbose=False)
        config = self.model.config
        most = min(MOST_TOKENS, int((MOST_WEIGHTS / config.num_hidden_layers / config.num_attention_heads) ** 0.5))
        if (tokens := encoded["input_ids"].shape[1]) > most:
            raise UserError(f"the text has {tokens} tokens; the page shows at most {most} of this model", "Shorten it")
        names = ["input_ids", "attention_mask", *["token_type_ids"] * takes_segments(config)]
        return {name: encoded[name] for name in names if name in encoded}

    def shown_tokens(self, ids: Sequence[int]) -> list[str]:
        """Tokens as a reader knows them: the bytes of byte-level BPE as characters, `▁` and `Ġ` for the space before,
        and bytes that are a part of a character as `<F0 9F>`.
        """
        tokens = [str(token) for token in self.tokenizer.convert_ids_to_tokens(list(ids))]
        if '"ByteLevel"' in self.tokenizer.backend_tokenizer.to_str():
            codes = {letter: f"{code:02X}" for code, letter in bytes_to_unicode().items()}
            for place, number in enumerate(ids):
                text = self.tokenizer.decode([number])
                part = f"<{' '.join(codes.get(letter, letter) for letter in tokens[place])}>"
                tokens[place] = part if PART in text else text.replace(" ", "Ġ")
        return list(map(shown_jamo, tokens))


def loaded_encoder(name: str, *, out: Path) -> Encoder:
    """The encoder of a model, or of a run without its head. Raises UserError where none has layers."""
    folder = saved(name, out=out).trained_folder
    tokenizer = load_tokenizer(folder)
    model, _ = load_encoder(folder)
    model.set_attn_implementation(EAGER)
    return Encoder(name=name, folder=folder, model=model, tokenizer=tokenizer)
