"""What the code needs to know of an encoder's family: its heads, its positions, and whether it is an encoder at all.

The families themselves are the rows of `family_rows`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from finetune.errors import UserError
from finetune.models.family_rows import FAMILIES as FAMILIES

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

POSITIONS = ("position_embeddings", "embed_positions")  # names of tables of positions


def most_tokens(encoder: "PreTrainedModel") -> int:
    """The longest sequence that an encoder has positions for: by its config, and by its table of positions."""
    counts = [int(getattr(encoder.config, "max_position_embeddings", None) or 512)]
    for name, table in encoder.named_modules():
        if name.rpartition(".")[2] in POSITIONS and hasattr(table, "weight"):
            counts.append(len(table.weight) - positions_before(table))
    return min(counts)


def positions_before(table: Any) -> int:
    """The rows of a table of positions before that of the first token: up to the padding token's, where it has one."""
    return 0 if getattr(table, "padding_idx", None) is None else table.padding_idx + 1


def takes_segments(config: "PretrainedConfig") -> bool:
    """Whether an encoder has segment ids for the two texts of a pair; some tokenizers return them regardless."""
    return getattr(config, "type_vocab_size", 0) > 1


def has_own_class(config: "PretrainedConfig") -> bool:
    """Whether a head on this family can be saved under the names of one of transformers' classes."""
    return config.model_type in FAMILIES


def is_left_to_right(config: "PretrainedConfig") -> bool:
    """Whether an encoder's tokens attend only to earlier ones."""
    return bool(getattr(config, "is_decoder", False))


def can_be_left_to_right(config: "PretrainedConfig") -> bool:
    """Whether an encoder of this family can attend to earlier tokens alone."""
    family = FAMILIES.get(config.model_type)
    return family is not None and family.left_to_right


def require_encoder(config: "PretrainedConfig") -> None:
    """Raises UserError for a model that is neither a bidirectional encoder nor one that was pre-trained left to right.

    Of any other decoder, the pooled token would not attend to the whole text.
    """
    if reason := _why_not(config):
        raise UserError(
            f"models of type '{config.model_type}' are not supported: {reason}",
            f"Choose an encoder, such as one of the types {', '.join(FAMILIES)}",
        )


def _why_not(config: "PretrainedConfig") -> str:
    """Why a model cannot be an encoder of text here; empty where it can."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

    if config.is_encoder_decoder:
        return "they have an encoder and a decoder"
    if config.model_type not in MASKED:
        return "transformers has no class of them that predicts masked words, as encoders of text have"
    if is_left_to_right(config) and getattr(config, "add_cross_attention", False):
        return "as its config says, this one reads the output of another model"
    if is_left_to_right(config) and not can_be_left_to_right(config):
        return "their config says is_decoder, and this type cannot attend to earlier tokens alone"
    lacking = [name for name in ("vocab_size", "hidden_size", "num_hidden_layers") if not hasattr(config, name)]
    return f"their config has no {' or '.join(lacking)}, which an encoder of text has" if lacking else ""


def family_notes(config: "PretrainedConfig") -> list[str]:
    """Notes for the user on a family without a row here."""
    if is_left_to_right(config):
        return ["the encoder reads from left to right: the last token's vector represents a text, not that of [CLS]"]
    if has_own_class(config):
        return []
    return [
        f"encoders of type '{config.model_type}' have no known pooling: a new tanh layer pools the first "
        "token, and the model is saved in a format that only finetune loads"
    ]


def head_dropout(config: "PretrainedConfig", names: Sequence[str]) -> float:
    """The dropout probability before a head's output layer: the first of these config names that is set, else 0."""
    return float(next((p for p in (getattr(config, name, None) for name in names) if p is not None), 0.0))


def set_dropout(config: "PretrainedConfig", probability: float) -> None:
    """Sets every dropout of the encoder and of the head to one probability."""
    for name, value in config.to_dict().items():
        if "dropout" in name and not isinstance(value, bool):  # ESM's token_dropout is a switch
            setattr(config, name, probability)
