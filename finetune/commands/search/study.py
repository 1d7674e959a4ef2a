"""The loop of a search: Optuna proposes settings, their runs are trained, and its journal keeps what came of them.

The journal is `<out>/<task>/search-<hash>.log`; the hash is of all that decides the trials but their number, so that
the same command with more trials continues it. Runs have ids: settings whose runs are finished cost nothing.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.commands.search.result import HeldOutScore, Search, Trial, plain_setting
from finetune.commands.search.space import SearchPlan, Space, is_whole, points_of
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.feature_batches import Diverged
from finetune.inference.predictor import load_predictor
from finetune.metrics.metric import Metric
from finetune.runs.events import Note, Watcher
from finetune.runs.folder import RunFolder, folder_name
from finetune.runs.record import RunRecord
from finetune.runs.seeds import summarised
from finetune.task_types.held_out import divided
from finetune.task_types.options import option_names
from finetune.task_types.prepare import load_splits
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.prepared_run import plan_run
from finetune.training.run_many import run_all
from finetune.training.run_options import RunOptions

if TYPE_CHECKING:
    import optuna

GIVES_UP = 3  # trials that all failed, at the start
TRIES = 100  # proposals in a row of settings that were tried already, after which the search ends
DRAWS = 10_000  # of the bootstrap of the optimism


def execute_search(
    plan: SearchPlan, options: RunOptions, *, trials: int, seeds: int, test_share: float, watch: Watcher
) -> Search:
    """Runs a search and scores its winner. Raises UserError as `search` does, and Interrupted after a signal."""
    for name, value in (("trials", trials), ("seeds", seeds)):
        if value < 1:
            raise UserError(f"`{name}` is {value}", "Give at least 1")
    if not 0 <= test_share <= 0.5:
        raise UserError(f"`test_share` is {test_share}", "Give a share over 0 and at most 0.5, such as 0.2")
    base, recipe = plan.base, plan.base.recipe
    if test_share:
        held_out = {"held_out.share": test_share, "held_out.seed": recipe.seeds[1]}
        base = replace(base, recipe=recipe.with_settings(held_out, origin="search"))
    study = _open_study(base, plan.space, seeds, options)
    loop = _Loop(study=study, base=base, space=plan.space, seeds=seeds, options=options, watch=watch)
    ranked = loop.ranked(trials)
    winner, metric = ranked[0], base.task.metrics[0]
    if winner.failure:
        raise UserError(f"none of {so_many(len(ranked), 'trial')} has a score: {winner.failure}", "Change the space")
    records = loop.records(winner)
    scores = [[metric.rank(score) for score in trial.scores] for trial in ranked if not trial.failure]
    return Search(
        ranked=ranked, best=recipe.with_settings(winner.settings, origin="search", options=option_names),
        records=records, space=list(plan.space), seeds=seeds, metric=metric, split=records[0].first_split,
        optimism=optimism_of_best(scores), held_out=loop.held_out(winner, records) if test_share else None,
        out=options.out,
    )  # fmt: skip


@dataclass(kw_only=True)
class _Loop:
    """Asks a study for settings of a space and trains a run of `base` with them for each seed."""

    study: "optuna.Study"
    base: ResolvedRun
    space: Space
    seeds: int
    options: RunOptions
    watch: Watcher
    # By the number of the trial. The journal has those that diverged alone: memory or a disk may have room next time.
    failures: dict[int, str] = field(default_factory=dict)

    @property
    def metric(self) -> Metric:
        """The headline metric."""
        return self.base.task.metrics[0]

    def ranked(self, trials: int) -> list[Trial]:
        """So many trials with different settings, the best first; in a smaller space, all that there are.

        Raises UserError where the first ones all fail.
        """
        points = points_of(self.space)
        if points is not None and len(points) <= trials:
            trials = len(points)
            for point in points:
                self.study.enqueue_trial(self._parameters(point), skip_if_exists=True)
        repeats = 0
        while len(tried := self._tried()) < trials and repeats < TRIES:
            if len(tried) >= GIVES_UP and all(trial.failure for trial in tried.values()):
                why = next(iter(tried.values())).failure
                raise UserError(f"the first {len(tried)} trials failed: {why}", "Run the recipe alone to see why")
            # A seed a trial: a search that was killed proposes the same as an undisturbed one.
            proposed = self._asked(self.base.recipe.seed + len(tried) + 1_000_003 * repeats)
            settings = self._settings(proposed)
            if (earlier := tried.get(_key(settings))) is not None:
                self._tell(proposed, fmean(earlier.scores) if earlier.scores else None)
                repeats += 1
                continue
            shown = ", ".join(f"{key}={plain_setting(value)}" for key, value in settings.items())
            self.watch(Note(f"trial {len(tried) + 1} of {trials}: {shown}"))
            self._train(proposed, settings)
            repeats = 0
        return sorted(self._tried().values(), key=self._rank)

    def records(self, trial: Trial) -> list[RunRecord]:
        """The records of a trial, a seed each; runs whose folders were deleted are trained again."""
        runs = self._runs(trial.settings)
        folders = [RunFolder.of(self.options.out, self.base.task.name, run) for run in trial.runs]
        records = [record for folder in folders if (record := folder.record()) is not None]
        if len(records) == len(runs):
            return records
        records, failures = run_all(runs, self.options, watch=self.watch)
        if failures:
            raise failures[0]
        return records

    def held_out(self, winner: Trial, records: Sequence[RunRecord]) -> HeldOutScore:
        """The winner's score on the rows held out; each winner is scored once."""
        scores = dict(self.study.user_attrs.get("held_out", {}))
        if (key := _key(winner.settings)) not in scores:
            scores[key] = [self._held_out_score(record) for record in records]
            self.study.set_user_attr("held_out", scores)
        summary = summarised(scores[key], self.metric)
        return HeldOutScore(summary=summary, share=self.base.recipe.held_out.share, winners=len(scores))

    def _held_out_score(self, record: RunRecord) -> float:
        task, recipe, options = self.base.task, self.base.recipe, self.options
        train = load_splits(task, options.source, limit=recipe.limit, names=[task.train_split])[task.train_split]
        _, rows = divided(task, train, recipe.held_out)
        folder = RunFolder.of(options.out, task.name, record.id).path
        predictor = load_predictor(folder, task=task, out=options.out, watch=self.watch, device=options.device)
        return float(predictor.task.scoring.score(predictor.answers(rows.rows), rows.rows)[self.metric.name])

    def _rank(self, trial: Trial) -> tuple[bool, float]:
        """Sorts the best mean first and failed trials last."""
        return bool(trial.failure), -self.metric.rank(self._mean(trial.scores)) if trial.scores else 0.0

    def _mean(self, scores: Sequence[float]) -> float:
        return self.metric.spacing.mean(scores)

    def _tried(self) -> dict[str, Trial]:
        """The trials with scores or a failure, by their settings."""
        tried: dict[str, Trial] = {}
        for trial in self.study.get_trials(deepcopy=False):
            scores, runs = trial.user_attrs.get("scores", []), trial.user_attrs.get("runs", [])
            failure = trial.user_attrs.get("failure") or self.failures.get(trial.number, "")
            if scores or failure:
                settings = self._settings(trial)
                tried.setdefault(_key(settings), Trial(settings=settings, scores=scores, runs=runs, failure=failure))
        return tried

    def _runs(self, settings: Mapping[str, Any]) -> list[ResolvedRun]:
        base = self.base
        every = [{**settings, "seed": base.recipe.seed + number} for number in range(self.seeds)]
        recipes = [base.recipe.with_settings(one, origin=base.name, options=option_names) for one in every]
        return [base.with_recipe(recipe) for recipe in recipes]

    def _train(self, trial: "optuna.Trial", settings: Mapping[str, Any]) -> None:
        """Trains the runs of a trial and tells the study. Unless it diverged, a failed one is tried again next time."""
        try:
            runs = self._runs(settings)
        except UserError as error:  # settings that do not go together
            self.failures[trial.number] = str(error)
            return
        records, errors = run_all(runs, self.options, watch=self.watch)
        scores = [record.score for record in records]
        diverged = [str(error) for error in errors if isinstance(error, Diverged)]
        if errors and not diverged:
            self.failures[trial.number] = str(errors[0])
        elif diverged or not math.isfinite(fmean(scores)):
            self._tell(trial, None, failure=diverged[0] if diverged else "its score is undefined")
        else:
            self._tell(trial, self._mean(scores), scores=scores, runs=[record.id for record in records])

    def _tell(self, trial: "optuna.Trial", value: float | None, **facts: Any) -> None:
        """Ends a trial with a value, or failed, unless another process ended it meanwhile."""
        optuna = _optuna()
        with suppress(optuna.exceptions.UpdateFinishedTrialError):
            for name, fact in facts.items():
                trial.set_user_attr(name, fact)
            failed = optuna.trial.TrialState.FAIL if value is None else None
            self.study.tell(trial, value, state=failed, skip_if_finished=True)

    def _asked(self, seed: int) -> "optuna.Trial":
        """The next trial: one that was enqueued, or settings that TPE proposes (Bergstra et al. 2011)."""
        self.study.sampler = _optuna().samplers.TPESampler(seed=seed % 2**32)
        trial = self.study.ask()
        for key, dimension in self.space.items():
            if isinstance(dimension, list):
                trial.suggest_categorical(key, [json.dumps(value) for value in dimension])
                continue
            low, high, log, step = (dimension.get(name) for name in ("low", "high", "log", "step"))
            if is_whole(key, dimension):
                trial.suggest_int(key, low, high, log=bool(log), step=step or 1)
            else:
                trial.suggest_float(key, low, high, log=bool(log), step=step)
        return trial

    def _settings(self, trial: "optuna.Trial | optuna.trial.FrozenTrial") -> dict[str, Any]:
        """The settings of a trial; numbers have four digits, which are shown and written."""
        settings = {}
        for key, dimension in self.space.items():
            value = trial.params[key]
            if isinstance(dimension, list):
                value = json.loads(value)
            elif isinstance(value, float) and "step" not in dimension:
                value = min(max(float(f"{value:.4g}"), dimension["low"]), dimension["high"])
            settings[key] = value
        return settings

    def _parameters(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings as a trial has them: one of several values as JSON."""
        return {
            key: json.dumps(value) if isinstance(self.space[key], list) else value for key, value in settings.items()
        }


def _open_study(base: ResolvedRun, space: Space, seeds: int, options: RunOptions) -> "optuna.Study":
    """The study in its journal. Trials that a killed process left are asked for first.

    Raises UserError without Optuna, and for a journal that cannot be read or written.
    """
    optuna = _optuna()
    planned = plan_run(base, source=options.source, device=options.device)
    decides = json.dumps([planned.id, dict(space), seeds], sort_keys=True, default=str)
    name = f"search-{hashlib.sha256(decides.encode()).hexdigest()[:10]}.log"
    file = options.out / folder_name(base.task.name) / name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        backend = optuna.storages.journal.JournalFileBackend(str(file))
        study = optuna.create_study(
            storage=optuna.storages.JournalStorage(backend), study_name="search", load_if_exists=True,
            direction="maximize" if base.task.metrics[0].greater_is_better else "minimize",
        )  # fmt: skip
    except OSError as error:
        what = f"{file}: cannot be read or written ({error.strerror})"
        raise UserError(what, "Choose another folder with `out`") from error
    except (ValueError, KeyError) as error:
        raise UserError(f"{file}: is not the journal of a search", "Delete it: finished runs cost nothing") from error
    for trial in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial(trial.params)
    return study


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UserError(
            "a search needs a package that is not installed (optuna)", "pip install 'bert-finetune[search]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


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
