"""Settings of a space that change nothing."""

import math
from collections.abc import Sequence

from finetune.commands.search.proposals import key_of
from finetune.commands.search.space import Choices, Space, points_in
from finetune.commands.search.trial import Trial
from finetune.runs.grid import SEEN_BY_LOGISTIC
from finetune.runs.recipe import Recipe

OF_THE_ENCODER = ("freeze_layers", "train.layer_decay")  # which a frozen one does not train


def idle_notes(space: Space, recipe: Recipe) -> list[str]:
    """What is to be known of a space before it is searched: settings without influence, and a space of one point."""
    notes = [
        f"{key} has one value, {axis.points()[0]}"  # type: ignore[index]
        for key, axis in space.items()
        if len(axis.points() or ()) == 1
    ]
    if points_in(space) == 1:
        notes = ["the space has one point, so there is nothing to choose: this is a run"]
    if recipe.frozen and "frozen" not in space:
        notes += [f"{key} has no influence on a frozen encoder" for key in OF_THE_ENCODER if key in space]
    if recipe.train.solver == "logistic" and "train.solver" not in space:
        unread = [key for key in space if key.startswith("train.") and key[6:] not in SEEN_BY_LOGISTIC]
        notes += [f"{key} has no influence on the logistic solver" for key in unread]
    return notes


def equal_notes(space: Space, trials: Sequence[Trial]) -> list[str]:
    """Settings that were found to have no influence: all trials that differ in one of them alone have equal scores."""
    notes = []
    for key, axis in space.items():
        groups: dict[str, list[list[float]]] = {}
        for trial in trials:
            if trial.value is not None:
                rest = key_of({name: value for name, value in trial.settings.items() if name != key})
                groups.setdefault(rest, []).append(trial.scores)
        several = [group for group in groups.values() if len(group) > 1]
        if several and isinstance(axis, Choices) and all(_are_equal(group) for group in several):
            notes.append(f"{key} had no influence: trials that differ in it alone have equal scores")
    return notes


def _are_equal(scores: Sequence[Sequence[float]]) -> bool:
    return all(math.isclose(a, b, abs_tol=1e-12) for each in scores[1:] for a, b in zip(scores[0], each, strict=True))
