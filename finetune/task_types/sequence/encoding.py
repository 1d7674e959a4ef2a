"""Encodes sources and targets; what is written is read again by the same tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from finetune.models.feature import Feature
from finetune.task_types.pooled import EncodedText, encode_texts
from finetune.task_types.sequence.row import SequenceRow

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Writes:
    """The tokenizer that makes a text of ids."""

    tokenizer: "PreTrainedTokenizerBase"

    def text_of(self, ids: np.ndarray) -> str:
        """The text without special tokens, and without white space around it."""
        found: str = self.tokenizer.decode(ids.tolist(), skip_special_tokens=True)
        return found.strip()


def encode_sources(
    rows: Sequence[SequenceRow], tokenizer: "PreTrainedTokenizerBase", max_length: int, *, most_written: int
) -> list[Feature]:
    """One feature a row; it is truncated where its source is, or its target, of which `most_written` tokens are learned
    with the one that ends it. A row without a target has no label.
    """
    sources = encode_texts([row.source for row in rows], None, tokenizer, max_length)
    learned = [row.target for row in rows if row.target is not None]
    targets = iter(encode_texts(learned, None, tokenizer, most_written + 1))  # the first token begins, and is given
    writes = Writes(tokenizer)
    return [
        _feature(index, source, None if row.target is None else next(targets), writes)
        for index, (row, source) in enumerate(zip(rows, sources, strict=True))
    ]


def _feature(index: int, source: EncodedText, target: EncodedText | None, writes: Writes) -> Feature:
    return Feature(
        row=index,
        input_ids=np.array(source.ids, dtype=np.int32),
        token_type_ids=None if source.segments is None else np.array(source.segments, dtype=np.int8),
        label=None if target is None else np.array(target.ids[1:], dtype=np.int32),
        truncated=source.truncated or (target is not None and target.truncated),
        note=writes,
    )
