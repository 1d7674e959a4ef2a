"""Which settings of a recipe go together with LoRA, and which need it."""

from collections.abc import Mapping
from typing import Any

NEED_LORA: Mapping[str, Any] = {
    "lora_targets": [],
    "lora_alpha": None,
    "lora_dropout": 0.0,
    "adapter": False,
}  # and their defaults


def lora_fault(settings: Mapping[str, Any]) -> str | None:
    """What is wrong with the settings of a recipe as far as LoRA is concerned; None where nothing is."""
    rank = settings["lora"]
    if not rank:
        unused = next((name for name, default in NEED_LORA.items() if settings[name] != default), None)
        return unused and f"'{unused}' does nothing without LoRA: set a rank, such as lora = 8, or leave it out"
    clashes = {
        "frozen = true": (settings["frozen"], "nothing of a frozen encoder is trained"),
        f"reinit_layers = {settings['reinit_layers']}": (settings["reinit_layers"], "the new layers would stay random"),
        "train.solver = 'logistic'": (settings["train"]["solver"] == "logistic", "it trains the output layer alone"),
    }
    for other, (there, why) in clashes.items():
        if there:
            return f"lora = {rank} with {other}: {why}; leave one of them out"
    own = settings["layers"] != "last" or settings["bilstm"] or settings["pooling"] in ("cls", "mean", "unit")
    if settings["adapter"] and own:
        return "adapter = true with layers, bilstm or pooling, which transformers lacks: leave adapter out, or these"
    return None
