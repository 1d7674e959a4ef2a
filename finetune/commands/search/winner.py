"""The best trial of a search, and what its score is worth: less optimism, and on rows held out from all trials."""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from finetune.commands.search.proposals import key_of
from finetune.commands.search.study import Study
from finetune.commands.search.trial import Trial
from finetune.inference.predictor import load_predictor
from finetune.metrics.metric import Metric
from finetune.runs.folder import RunFolder
from finetune.runs.seeds import Summary, summarised
from finetune.task_types.held_out import divided
from finetune.task_types.prepare import load_splits

DRAWS = 10_000


def best_trial(trials: Sequence[Trial], metric: Metric) -> Trial | None:
    """The finished trial with the best mean over its seeds, of equal ones the first; None where none is finished."""
    done = [(trial, trial.value) for trial in trials]
    ranked = [(metric.rank(value), trial) for trial, value in done if value is not None]
    return max(ranked, key=lambda pair: pair[0])[1] if ranked else None


def optimism(trials: Sequence[Trial], metric: Metric) -> float | None:
    """By how much the best dev mean is too good, as far as the spread over seeds tells, 0 or more; see
    `optimism_of_best`.
    """
    return optimism_of_best(
        [[metric.rank(score) for score in trial.scores] for trial in trials if trial.value is not None]
    )


def optimism_of_best(scores: Sequence[Sequence[float]]) -> float | None:
    """The expected excess of the best mean score over that setting's true mean, in units of the score.

    `scores` has a list for each setting, one score a seed, a greater one being better. A parametric bootstrap
    (Efron & Tibshirani 1993, section 6.5 and chapter 10): means with normal noise are drawn around assumed true ones,
    the best is chosen, and its noise is averaged. The noise of a mean is the standard deviation over seeds, pooled
    over the settings, by the root of their number. The true means are those observed, drawn together so that their
    variance is the observed one less that of the noise (Louis 1984), since observed means contain noise already.

    None where no setting has two seeds, or there are fewer than two settings. It does not know that all were chosen on
    the same rows.
    """
    several = [each for each in scores if len(each) > 1]
    if len(scores) < 2 or not several:
        return None
    pooled = sum(np.var(each) * len(each) for each in several) / sum(len(each) - 1 for each in several)
    means, noise = np.array([fmean(each) for each in scores]), np.array([pooled / len(each) for each in scores])
    spread = float(means.var(ddof=1))
    shrink = math.sqrt(max(0.0, 1 - float(noise.mean()) / spread)) if spread else 0.0
    true = means.mean() + shrink * (means - means.mean())
    drawn = np.random.default_rng(0).normal(size=(DRAWS, len(means))) * np.sqrt(noise)
    best = (true + drawn).argmax(axis=1)
    return float(drawn[np.arange(DRAWS), best].mean())


def held_out_score(study: Study, trial: Trial) -> tuple[Summary, int]:
    """The headline score of a trial's models on the rows held out, over its seeds, and of how many trials these rows
    have been scored until now. Each model is scored once.
    """
    opening, task = study.opening, study.runs.base.task
    for run in trial.runs:
        if run.id not in opening.held_out:
            opening.held_out[run.id] = _scores(study, run.id)
            opening.write()
    scored = {key_of(trial.settings) for trial in study.found if any(run.id in opening.held_out for run in trial.runs)}
    scores = [opening.held_out[run.id][task.metrics[0].name] for run in trial.runs]
    return summarised(scores, study.metric), len(scored)


def _scores(study: Study, run: str) -> dict[str, float]:
    """The scores of a run's model on the rows held out from the search."""
    task, recipe = study.runs.base.task, study.runs.base.recipe
    folder = RunFolder.of(study.out, task.name, run)
    train = load_splits(task, study.options.source, limit=recipe.limit, names=[task.train_split])[task.train_split]
    _, rows = divided(task, train, recipe.held_out)
    predictor = load_predictor(folder.path, task=task, out=study.out, watch=study.watch, device=study.options.device)
    return dict(predictor.task.scoring.score(predictor.answers(rows.rows), rows.rows))
