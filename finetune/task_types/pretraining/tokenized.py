"""What an objective of pre-training needs of a tokenizer: its special tokens, and room for text between them."""

from typing import TYPE_CHECKING

from finetune.errors import UserError
from finetune.task_types.pretraining.piece import PieceVocabulary, piece_vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.task_types.pretraining.task import TextTask


def vocabulary_for(task: "TextTask", tokenizer: "PreTrainedTokenizerBase") -> PieceVocabulary:
    """The vocabulary. Raises UserError where a text begins or ends with no special token, and the objective predicts
    from one.
    """
    vocabulary = piece_vocabulary(tokenizer)
    lacks_before = not vocabulary.single.before
    if not task.objective_type.masked and lacks_before:
        raise UserError(
            f"objective={task.objective} predicts the first word of a text from a special token before it, which"
            " the tokenizer of this model does not add",
            "Choose objective=mlm, or train a vocabulary with `finetune tokenizer`",
        )
    if task.objective_type.spans and (lacks_before or not vocabulary.single.after):
        raise UserError(
            f"objective={task.objective} predicts spans from the tokens around them, and the tokenizer of this model"
            " adds no special token at both ends of a text",
            "Choose objective=mlm mask=spans, or train a vocabulary with `finetune tokenizer`",
        )
    return vocabulary


def piece_size(task: "TextTask", vocabulary: PieceVocabulary, max_length: int) -> int:
    """The tokens of a piece, without special ones. Raises UserError where none fit, or for pairs only one."""
    special: int = (vocabulary.pair if task.paired else vocabulary.single).special_tokens
    least = special + 1 + task.paired
    if max_length < least:
        raise UserError(
            f"max_length is {max_length}, and {special} special tokens leave no room for text",
            f"Set max_length={least} or more",
        )
    return max_length - special
