"""Encoder-decoders of encoders (Rothe, Narayan and Severyn 2020): a decoder with the weights of the encoder and new
cross-attention, as transformers' EncoderDecoderModel has it.
"""

import copy
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    GenerationConfig,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from finetune.errors import UserError
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.untrained import is_untrained
from finetune.models.weight_files import from_pretrained

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FAILING = {  # types whose decoder is built, and does not write
    "big_bird": "transformers' BigBirdForCausalLM fails with the cache of keys and values that a search needs"
}
ABLE = "bert, roberta, electra or xlm-roberta"


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How a text is written: with so many beams (1 is greedy), at most so many tokens with the one that ends it, and
    each beam's log-probability divided by its length to the power of `length_penalty`.
    """

    beams: int
    most_tokens: int
    length_penalty: float


def require_decoder(config: PretrainedConfig) -> None:
    """Raises UserError for an encoder of a type that transformers cannot make a decoder with cross-attention of."""
    if reason := _why_no_decoder(config):
        raise UserError(
            f"encoders of type '{config.model_type}' cannot be a decoder: {reason}",
            f"Choose an encoder that can, of type {ABLE}, such as model=minilm, or a new one, model=new:SIZE",
        )


def _why_no_decoder(config: PretrainedConfig) -> str:
    if not getattr(config, "num_hidden_layers", 1):
        return "it has no layers, and so no cross-attention, by which a decoder reads the source"
    kind = type(config)
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING or config.model_type not in CONFIG_MAPPING:
        return "transformers has no class of this type that predicts the next word"
    found: Any = MODEL_FOR_CAUSAL_LM_MAPPING[kind]
    if "encoder_hidden_states" not in inspect.signature(found.forward).parameters:
        return f"transformers' {found.__name__} has no cross-attention, by which a decoder reads the source"
    if config.model_type in FAILING:
        return FAILING[config.model_type]
    if getattr(config, "is_decoder", False):
        return "its config says that it reads from left to right, and a source is read in both directions"
    return ""


def new_decoder(config: PretrainedConfig) -> PreTrainedModel:
    """A decoder as large as an encoder, with a causal mask and cross-attention; its weights are random."""
    require_decoder(config)
    own = copy.deepcopy(config)
    own.is_decoder = own.add_cross_attention = True
    decoder: PreTrainedModel = AutoModelForCausalLM.from_config(own, dtype=torch.float32, trust_remote_code=False)
    return decoder


def begin_as(decoder: PreTrainedModel, encoder: PreTrainedModel) -> None:
    """Copies an encoder's weights; what it lacks, cross-attention and the words' head, does not change."""
    decoder.base_model.load_state_dict(encoder.state_dict(), strict=False)
    decoder.tie_weights()


def load_words(decoder: PreTrainedModel, folder: Path) -> None:
    """Loads the head that predicts words, where a checkpoint has it from its pre-training."""
    if is_untrained(folder) or (folder / OWN_WEIGHTS).is_file():
        return
    found, info = from_pretrained(type(decoder), folder, config=decoder.config)
    inner, lacking = f"{decoder.base_model_prefix}.", set(info["missing_keys"])
    words = {n: t for n, t in found.state_dict().items() if not n.startswith(inner) and n not in lacking}
    tied = decoder._tied_weights_keys or {}
    decoder.load_state_dict({name: tensor for name, tensor in words.items() if name not in tied}, strict=False)
    decoder.tie_weights()


def name_marks(decoder: PreTrainedModel, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Keeps in a decoder's config the tokens that begin and end a text. Raises UserError for a tokenizer without."""
    start, end = text_marks(tokenizer)
    config = decoder.config
    config.bos_token_id, config.eos_token_id, config.pad_token_id = start, end, tokenizer.pad_token_id


def text_marks(tokenizer: "PreTrainedTokenizerBase") -> tuple[int, int]:
    """The ids that a tokenizer puts before and after a text. Raises UserError for one that does not."""
    ids = tokenizer("")["input_ids"]
    if len(ids) != 2:
        raise UserError(
            f"the tokenizer puts {len(ids)} special tokens around a text, and a decoder needs one that begins a text "
            "and one that ends it",
            f"Choose an encoder with such a tokenizer, of type {ABLE}",
        )
    return int(ids[0]), int(ids[1])


def joined_pair(encoder: PreTrainedModel, decoder: PreTrainedModel) -> EncoderDecoderModel:
    """Both as transformers' class, over the same weights."""
    kept = encoder.config, decoder.config
    model = EncoderDecoderModel(config=pair_config(*kept), encoder=encoder, decoder=decoder)
    encoder.config, decoder.config = kept  # which its constructor replaces by copies
    return model


def pair_config(encoder: PretrainedConfig, decoder: PretrainedConfig, **more: Any) -> EncoderDecoderConfig:
    """The config of both."""
    return EncoderDecoderConfig.from_encoder_decoder_configs(
        encoder,
        decoder,
        decoder_start_token_id=decoder.bos_token_id,
        eos_token_id=decoder.eos_token_id,
        pad_token_id=decoder.pad_token_id,
        **more,
    )


def generation_config(decoder: PretrainedConfig, how: Generation) -> GenerationConfig:
    """The settings of transformers' `generate`."""
    several = {"length_penalty": how.length_penalty, "early_stopping": False} if how.beams > 1 else {}
    return GenerationConfig(
        num_beams=how.beams,
        max_new_tokens=how.most_tokens,
        do_sample=False,
        decoder_start_token_id=decoder.bos_token_id,
        eos_token_id=decoder.eos_token_id,
        pad_token_id=decoder.pad_token_id,
        **several,
    )


def written(model: EncoderDecoderModel, states: Tensor, mask: Tensor, how: Generation) -> list[np.ndarray]:
    """The ids of the text for each source, without special tokens around it.

    `states` `(batch, length, width)` are the encoder's, `mask` `(batch, length)` is 0 at padding.
    """
    config = model.decoder.config
    ids = model.generate(
        encoder_outputs=BaseModelOutput(last_hidden_state=states),
        attention_mask=mask,
        generation_config=generation_config(config, how),
    )
    return [_until_end(row, config.eos_token_id) for row in ids[:, 1:].cpu().numpy()]


def _until_end(ids: np.ndarray, end: int) -> np.ndarray:
    ends = np.flatnonzero(ids == end)
    return ids[: ends[0]] if len(ends) else ids
