"""Which settings go together, of LoRA, optimizer and schedule: one that would do nothing is refused."""

from collections.abc import Mapping
from typing import Any

from finetune.runs.recipe_tables import Train

NEED_LORA: Mapping[str, Any] = {
    "lora_targets": [],
    "lora_alpha": None,
    "lora_dropout": 0.0,
    "adapter": False,
}  # and their defaults
READ_BY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "adam_epsilon": ("solver", ("adam", "radam", "contrastive")),
    "bias_correction": ("solver", ("adam", "contrastive")),
    "noam_factor": ("schedule", ("noam",)),
}  # settings of `train`, and the values of another one that read them


def update_fault(settings: Mapping[str, Any]) -> str | None:
    """What is wrong with the settings of a recipe as far as its updates are concerned; None where nothing is."""
    train = settings["train"]
    if train["solver"] == "logistic":  # which makes none
        return None
    for name, (other, readers) in READ_BY.items():
        if train[name] != Train.model_fields[name].default and train[other] not in readers:
            return (
                f"train.{name} {train[name]} and train.{other} {train[other]}, which does not read it; leave it out, "
                f"or set train.{other}={readers[0]}"
            )
    if train["schedule"] == "noam" and not train["warmup"]:
        return "train.schedule noam and train.warmup 0: its rate is made of the warm-up; set train.warmup above 0"
    if train["schedule"] == "noam" and train["learning_rate"] != Train.model_fields["learning_rate"].default:
        return (
            f"train.learning_rate {train['learning_rate']:g} and train.schedule noam, whose rate is its own; leave "
            "train.learning_rate out, and set train.noam_factor"
        )
    return None


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
