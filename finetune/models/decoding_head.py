"""DecodingHead: a decoder that writes a text from what the encoder read of a source (Rothe et al. 2020, BERT2BERT)."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers import EncoderDecoderModel, PreTrainedModel

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.encoder_decoder import (
    Generation,
    begin_as,
    joined_pair,
    load_words,
    name_marks,
    new_decoder,
    written,
)
from finetune.models.families import most_tokens
from finetune.models.feature import IGNORED
from finetune.models.head import Head
from finetune.models.tokenizers.load import load_tokenizer


class DecodingHead(Head):
    """A decoder over the last layer of an encoder, of the same type and size.

    It learns each token of a target from those before it (teacher forcing); `smoothing` is the share of a label's
    probability that all tokens of the vocabulary have (Szegedy et al. 2016). `generation` says how it writes a text.
    """

    inputs = frozenset({"sequence"})
    decodes = True
    auto_class = "EncoderDecoderModel"

    def __init__(self, backbone: Backbone, *, smoothing: float, generation: Generation) -> None:
        super().__init__(())
        if backbone.reader is not None:
            raise UserError("a decoder reads the last layer alone", "Leave layers and bilstm out")
        self.decoder = new_decoder(backbone.config)
        self._shared: tuple[PreTrainedModel] = (
            backbone.encoder,
        )  # in a tuple, so that it is not a part of this module
        self._joined: tuple[EncoderDecoderModel] | None = None
        self.smoothing, self.generation = smoothing, generation
        if generation.most_tokens > (most := most_tokens(self.decoder)):
            raise UserError(
                f"max_target_tokens is {generation.most_tokens}; this encoder has positions for {most} tokens",
                f"Set max_target_tokens={most}",
            )

    def initialise(self) -> None:
        """The encoder's weights; those that it lacks are drawn as transformers does."""
        begin_as(self.decoder, self._shared[0])

    def begin(self, folder: Path) -> None:
        """Loads what a checkpoint's folder has of a decoder alone: the head for words and the special tokens."""
        load_words(self.decoder, folder)
        name_marks(self.decoder, load_tokenizer(folder))
        self._join()

    def forward(
        self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None, *, targets: Tensor | None = None
    ) -> Any:
        """Logits `(batch, n, vocabulary)` of each token of `targets` `(batch, n)` from the tokens before it."""
        assert targets is not None  # what has no targets is written
        config = self.decoder.config
        start = torch.full_like(targets[:, :1], config.bos_token_id)
        before = torch.cat([start, targets[:, :-1]], dim=1)
        ids = before.masked_fill(before == IGNORED, config.pad_token_id)
        output = self.decoder(input_ids=ids, encoder_hidden_states=hidden, encoder_attention_mask=mask, use_cache=False)
        return output.logits

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy summed over the tokens `(batch, n)`."""
        return functional.cross_entropy(
            logits.flatten(0, 1),
            labels.flatten(),
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=self.smoothing,
        )

    def write(self, hidden: Tensor, mask: Tensor) -> list[np.ndarray]:
        """The ids of a text for each source `(n,)`, by greedy or beam search."""
        assert self._joined is not None  # a head is begun, or takes a trained decoder, before it writes
        return written(self._joined[0], hidden, mask, self.generation)

    def replace_decoder(self, decoder: PreTrainedModel) -> None:
        """Takes a trained decoder."""
        self.decoder = decoder
        self._join()

    def _join(self) -> None:
        """Makes transformers' class of both, which ties weights again: before an optimizer has them."""
        self._joined = (joined_pair(self._shared[0], self.decoder),)

    def config_settings(self) -> dict[str, Any]:
        return {}
