"""The forms of new encoders, `new:mini-prenorm` or `new:mini-rotary`: a type that transformers has, in BERT's sizes.

Without one it is a BERT: it normalises after each part (post-norm) and learns a vector for each position.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from finetune.errors import UserError, nearest

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig, PreTrainedModel

FORMS = {
    "prenorm": "LayerNorm before each part, not after it (Xiong et al. 2020): a RoBERTa-PreLayerNorm",
    "sinusoidal": "fixed sinusoids as positions (Vaswani et al. 2017, section 3.5), which are not trained",
    "rotary": "queries and keys turned by their position (Su et al. 2021): a RoFormer",
    "electra": "an ELECTRA (Clark et al. 2020)",
}
TYPES = {"prenorm": "roberta-prelayernorm", "rotary": "roformer", "electra": "electra"}  # the others are BERTs
SINUSOIDAL = "sinusoidal_positions"  # the setting of a saved config, by which they stay fixed
TOGETHER = ({"prenorm", "sinusoidal"},)  # forms that transformers has a type for
SLOWEST = 10_000.0  # the sinusoids' longest wavelength is so many times 2 pi tokens


def forms_of(name: str, given: str) -> tuple[str, ...]:
    """The forms in `prenorm-sinusoidal`, sorted. Raises UserError for unknown ones, and for some that clash."""
    forms = tuple(sorted(given.split("-"))) if given else ()
    for form in forms:
        if form not in FORMS:
            raise UserError(
                f"model '{name}': there is no form '{form}' of new encoders",
                f"{nearest(form, list(FORMS))}Choose among {', '.join(FORMS)}, such as new:mini-prenorm",
            )
    if len(forms) > 1 and set(forms) not in TOGETHER:
        raise UserError(
            f"model '{name}': transformers has no type of encoder that is {' and '.join(forms)} in this way",
            "Choose one of them, or prenorm-sinusoidal",
        )
    return forms


def config_of_form(forms: Sequence[str], settings: Mapping[str, Any]) -> "PretrainedConfig":
    """The configuration of a new encoder with BERT's settings. Raises UserError for a vocabulary without padding."""
    from transformers import CONFIG_MAPPING

    kind = next((TYPES[form] for form in forms if form in TYPES), "bert")
    given = dict(settings)
    if kind == "roberta-prelayernorm":  # its first position is behind that of padding
        if settings["pad_token_id"] is None:
            raise UserError(
                "the tokenizer has no padding token, from which positions of a pre-norm encoder are counted",
                "Name another vocabulary, or train one with `finetune tokenizer`",
            )
        given |= {"max_position_embeddings": settings["max_position_embeddings"] + settings["pad_token_id"] + 1}
    if kind == "electra":
        given |= {"embedding_size": settings["hidden_size"]}
    if "sinusoidal" in forms:
        given |= {SINUSOIDAL: True}
    same = {"type_vocab_size": 2, "layer_norm_eps": 1e-12}  # as in BERT, whatever the type's own defaults are
    return CONFIG_MAPPING[kind](**same, **given)


def fix_positions(encoder: "PreTrainedModel", *, new: bool) -> None:
    """Freezes positions that are sinusoids; of a `new` encoder they are written first.

    They are as large next to the words' vectors as in the paper, which multiplies those by the root of the width.
    """
    import torch

    from finetune.models.families import positions_before

    if new:
        for module in encoder.modules():
            if hasattr(module, "create_weight"):  # RoFormer's table of angles
                module.weight.data.copy_(module.create_weight())
    if not getattr(encoder.config, SINUSOIDAL, False):
        return
    table = encoder.embeddings.position_embeddings
    if new:
        first = positions_before(table)
        with torch.no_grad():
            table.weight[first:] = encoder.config.initializer_range * sinusoids(*table.weight[first:].shape)
    table.requires_grad_(False)


def sinusoids(count: int, width: int) -> "Tensor":
    """Sines at even and cosines at odd places: `(count, width)`."""
    import torch

    rates = SLOWEST ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(count), rates)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
