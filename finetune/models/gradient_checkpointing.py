"""Gradient checkpointing (Chen et al. 2016): of each layer only the input is kept, and the rest is computed again in
the backward pass. It takes less memory and more time, and gives the same gradients.
"""

from transformers import PreTrainedModel

from finetune.errors import UserError
from finetune.models.kernels.dropout import repeatable


def checkpoint_gradients(encoder: PreTrainedModel) -> None:
    """Turns gradient checkpointing on; it has an effect in training only.

    Raises UserError for an encoder of a type for which transformers cannot.
    """
    again = {"use_reentrant": False, "context_fn": repeatable}
    try:
        encoder.activation_checkpointing_enable(again)
    except ValueError as error:
        raise UserError(
            f"train.gradient_checkpointing: transformers has none for encoders of type '{encoder.config.model_type}'",
            "Leave it out, and raise train.accumulation or lower train.batch_size to save memory",
        ) from error
    encoder.disable_input_require_grads()  # they are for the other way, and would go through frozen layers
