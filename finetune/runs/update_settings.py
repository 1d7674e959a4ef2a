"""Which settings of optimizer, schedule and unfreezing go together: one that would do nothing is refused."""

from collections.abc import Mapping
from typing import Any

from finetune.runs.recipe_tables import BY_LABELS, Train

READ_BY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "momentum": ("solver", ("sgd",)),
    "adam_epsilon": ("solver", ("adam", "radam", "contrastive")),
    "bias_correction": ("solver", ("adam", "contrastive")),
    "noam_factor": ("schedule", ("noam",)),
    "slant_ratio": ("schedule", ("slanted_triangular",)),
}  # settings of `train`, and the values of another one that read them


def update_fault(settings: Mapping[str, Any]) -> str | None:
    """What is wrong with the settings of a recipe as far as its updates are concerned; None where nothing is."""
    train, solver = settings["train"], settings["train"]["solver"]
    if solver == "logistic":  # which makes none
        return _unfreezes(settings, solver)
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
    return _unfreezes(settings, solver)


def _unfreezes(settings: Mapping[str, Any], solver: str) -> str | None:
    count = settings["train"]["unfreeze_layers"]
    if count and settings["frozen"]:
        return f"train.unfreeze_layers {count} and frozen: a frozen encoder stays so; leave one of them out"
    if count and solver not in BY_LABELS:
        return f"train.unfreeze_layers {count} and train.solver {solver}, which has no epochs; leave one of them out"
    return None
