"""What else is to be known of a search: settings that change nothing, and whether the paper's grid does as well."""

import itertools
import math
from collections.abc import Sequence

from finetune.commands.search.known import record_of
from finetune.commands.search.proposals import key_of
from finetune.commands.search.space import Choices, Space, points_in
from finetune.commands.search.study import Study
from finetune.commands.search.trial import Trial
from finetune.commands.search.winner import best_trial
from finetune.errors import UserError
from finetune.runs.grid import SEEN_BY_LOGISTIC, full_name
from finetune.runs.recipe import Recipe
from finetune.runs.seeds import summarised
from finetune.training.targets import preset_grid

PAPER_GRID = "paper-grid"
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


def against_paper_grid(study: Study, winner: Trial, *, command: str) -> str:
    """One sentence; `command` runs the recipe of the search. Empty for a recipe to which the grid does not apply.

    The grid does as well if its best mean is at most one standard error of the difference below the winner's (the
    one-standard-error rule of Breiman et al. 1984, section 3.4.3).
    """
    grid = preset_grid(PAPER_GRID)
    recipe = study.runs.base.recipe
    if recipe.frozen or recipe.train.solver == "logistic" or set(grid) & {full_name(key) for key in recipe.grid}:
        return ""
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    try:
        trials = [Trial(settings=point, runs=study.runs.of(point)) for point in points]
    except UserError:  # a setting of the recipe that does not go with the grid's
        return ""
    for trial in trials:
        records = [record for run in trial.runs if (record := record_of(run, study.out)) is not None]
        if len(records) == len(trial.runs):
            trial.finish(records)
    done = [trial for trial in trials if trial.value is not None]
    if len(done) < len(trials):
        return (
            f"whether the paper's grid does as well is not known: {len(done)} of its {len(trials)} settings have runs "
            f"here; the others: {command} preset={PAPER_GRID} --seeds {study.runs.seeds}"
        )
    best = best_trial(done, study.metric)
    assert best is not None
    return _compared(study, winner, best, len(trials))


def _compared(study: Study, winner: Trial, grid: Trial, settings: int) -> str:
    metric = study.metric
    ours, theirs = summarised(winner.scores, metric), summarised(grid.scores, metric)
    error = math.hypot((ours.sd or 0) / math.sqrt(ours.n), (theirs.sd or 0) / math.sqrt(theirs.n))
    behind = metric.rank(ours.mean) - metric.rank(theirs.mean)
    verdict = "does as well" if behind <= error else "does worse"
    return (
        f"the paper's grid {verdict}: {metric.shown(theirs.mean)}, the best of {settings} settings, against "
        f"{metric.shown(ours.mean)} (standard error of the difference {metric.shown(error)})"
    )
