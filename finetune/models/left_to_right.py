"""Makes an encoder read from left to right, by the switch that transformers has for it in some families."""

from transformers import PreTrainedModel


def attend_to_the_left(encoder: PreTrainedModel) -> None:
    """Makes each token attend only to those before it and to itself, in this model and where it is loaded again."""
    encoder.config.is_decoder = True
    for module in encoder.modules():
        for name in ("is_causal", "is_decoder"):
            if hasattr(module, name):
                setattr(module, name, True)
