"""What pre-training needs of a tokenizer: its special tokens, and room for text between them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from finetune.errors import UserError
from finetune.models.tokenizers.encoding import Template, template_of
from finetune.task_types.pretraining.objectives import OBJECTIVES

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, kw_only=True, eq=False)
class PieceVocabulary:
    """A tokenizer with its templates of one text and of a pair, the ids of [MASK] and of unknown words, and `ordinary`
    ids, of tokens that are not special.

    `special` says of each id whether it is of a special token, `(vocabulary,)`, which a text that names it has too. An
    unknown word is a word, and not special.
    """

    tokenizer: "PreTrainedTokenizerBase"
    single: Template
    pair: Template
    mask_id: int
    unknown_id: int | None
    ordinary: np.ndarray
    special: np.ndarray


def vocabulary_for(objective: str, tokenizer: "PreTrainedTokenizerBase") -> PieceVocabulary:
    """A fast tokenizer's vocabulary. Raises UserError where it is not a fast one or has no [MASK], and where a text
    begins with no special token and the objective predicts its first word from one.
    """
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise UserError("the tokenizer of this encoder is not a fast one", "Name another model, or tokenizer=FOLDER")
    if tokenizer.mask_token_id is None:
        raise UserError(
            "the tokenizer of this model has no [MASK] token, which pre-training needs",
            "Train one with `finetune tokenizer`, or name another model",
        )
    single = template_of(tokenizer, pair=False)
    if not OBJECTIVES[objective].masked and not single.before:
        raise UserError(
            f"objective={objective} predicts the first word of a text from a special token before it, which"
            " the tokenizer of this model does not add",
            "Choose objective=mlm, or train a vocabulary with `finetune tokenizer`",
        )
    numbers = np.array(sorted(tokenizer.get_vocab().values()))
    names = np.isin(np.arange(numbers[-1] + 1), tokenizer.all_special_ids)
    return PieceVocabulary(
        tokenizer=tokenizer,
        single=single,
        pair=template_of(tokenizer),
        mask_id=int(tokenizer.mask_token_id),
        unknown_id=tokenizer.unk_token_id,
        ordinary=numbers[~names[numbers]],
        special=names & (np.arange(len(names)) != tokenizer.unk_token_id),
    )


def piece_size(objective: str, vocabulary: PieceVocabulary, max_length: int) -> int:
    """The tokens of a piece, without special ones. Raises UserError where none fit, or for pairs only one."""
    paired = OBJECTIVES[objective].paired
    special = (vocabulary.pair if paired else vocabulary.single).special_tokens
    least = special + 1 + paired
    if max_length < least:
        raise UserError(
            f"max_length is {max_length}, and {special} special tokens leave no room for text",
            f"Set max_length={least} or more",
        )
    return max_length - special
