"""What an objective of pre-training needs of a tokenizer: its special tokens, and room for text between them."""

from typing import TYPE_CHECKING

from finetune.errors import UserError
from finetune.task_types.pretraining.objectives import OBJECTIVES
from finetune.task_types.pretraining.piece import PieceVocabulary, piece_vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def vocabulary_for(objective: str, tokenizer: "PreTrainedTokenizerBase") -> PieceVocabulary:
    """The vocabulary. Raises UserError where a text begins or ends with no special token, and the objective predicts
    from one.
    """
    vocabulary, kind = piece_vocabulary(tokenizer), OBJECTIVES[objective]
    lacks_before = not vocabulary.single.before
    if not kind.masked and lacks_before:
        raise UserError(
            f"objective={objective} predicts the first word of a text from a special token before it, which"
            " the tokenizer of this model does not add",
            "Choose objective=mlm, or train a vocabulary with `finetune tokenizer`",
        )
    if kind.spans and (lacks_before or not vocabulary.single.after):
        raise UserError(
            f"objective={objective} predicts spans from the tokens around them, and the tokenizer of this model"
            " adds no special token at both ends of a text",
            "Choose objective=mlm mask=spans, or train a vocabulary with `finetune tokenizer`",
        )
    return vocabulary


def piece_size(objective: str, vocabulary: PieceVocabulary, max_length: int) -> int:
    """The tokens of a piece, without special ones. Raises UserError where none fit, or for pairs only one."""
    special: int = (vocabulary.pair if OBJECTIVES[objective].paired else vocabulary.single).special_tokens
    least = special + 1 + OBJECTIVES[objective].paired
    if max_length < least:
        raise UserError(
            f"max_length is {max_length}, and {special} special tokens leave no room for text",
            f"Set max_length={least} or more",
        )
    return max_length - special
