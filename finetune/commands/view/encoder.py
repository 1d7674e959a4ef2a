"""The encoder that a page shows: of a model, or of a run without its head."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from transformers import PreTrainedModel

from finetune.inference.predictor import saved
from finetune.models.loading import load_encoder
from finetune.models.tokenizers.load import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


EAGER = "eager"  # the only attention that returns weights


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """An encoder with its tokenizer, in evaluation mode on the CPU; `untrained` are weights that its files lack,
    `out` is the folder of runs.
    """

    name: str
    folder: Path
    model: PreTrainedModel
    tokenizer: "PreTrainedTokenizerBase"
    untrained: Sequence[str]
    out: Path


def loaded_encoder(name: str, *, out: Path) -> Encoder:
    """The encoder of a model, or of a run without its head. Raises UserError where none has layers."""
    folder = saved(name, out=out).trained_folder
    tokenizer = load_tokenizer(folder)
    model, untrained = load_encoder(folder)
    model.set_attn_implementation(EAGER)
    return Encoder(name=name, folder=folder, model=model, tokenizer=tokenizer, untrained=untrained, out=out)
