"""Whether the paper's grid would have done as well as a search, from runs that are there."""

import itertools
import math

from finetune.commands.search.known import record_of
from finetune.commands.search.study import Study
from finetune.commands.search.trial import Trial
from finetune.commands.search.winner import best_trial
from finetune.errors import UserError
from finetune.runs.grid import full_name
from finetune.runs.seeds import summarised
from finetune.training.targets import preset_grid

PRESET = "paper-grid"


def against_paper_grid(study: Study, winner: Trial, *, command: str) -> str:
    """One sentence; `command` runs the recipe of the search. Empty for a recipe to which the grid does not apply.

    The grid does as well if its best mean is at most one standard error of the difference below the winner's (the
    one-standard-error rule of Breiman et al. 1984, section 3.4.3).
    """
    grid = preset_grid(PRESET)
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
            f"here; the others: {command} preset={PRESET} --seeds {study.runs.seeds}"
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
