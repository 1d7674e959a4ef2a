"""The loop of a search: ask, train, compare, tell. Read this file first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from finetune.commands.search.known import SeedRuns, fitting, folder_of, record_of, score_after
from finetune.commands.search.opening import SearchState
from finetune.commands.search.proposals import Proposals, key_of
from finetune.commands.search.pruning import Rule, is_behind, rungs
from finetune.commands.search.space import Space, every_point, points_in
from finetune.commands.search.trial import SeedRun, Trial
from finetune.errors import UserError
from finetune.inference.feature_batches import Diverged
from finetune.metrics.metric import Metric
from finetune.runs.events import Note, Watcher
from finetune.runs.record import RunRecord
from finetune.training.run_many import Outcome, train_run, with_name
from finetune.training.run_options import RunOptions

GIVES_UP = 3  # trials that all failed, at the start


@dataclass(kw_only=True)
class Study:
    """A search over a space; `trials` counts those that were known before.

    The same study on the same folder asks for the same settings in the same order: what is finished is told from its
    records, what was compared from its log, and only the rest is trained.
    """

    runs: SeedRuns
    space: Space
    trials: int
    prune: Rule
    options: RunOptions
    watch: Watcher
    found: list[Trial] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """The folder of runs."""
        return self.options.out

    @property
    def metric(self) -> Metric:
        """The headline metric."""
        return self.runs.base.task.metrics[0]

    @cached_property
    def opening(self) -> SearchState:
        """The file of the search, written when it begins."""
        base, plan = self.runs.base, self.runs.plan(self.runs.base)
        decides = {
            "recipe": base.recipe.model_dump(), "data": plan.data, "weights": plan.weights.fingerprint,
            "precision": plan.precision, "space": {key: vars(axis) for key, axis in self.space.items()},
            "seeds": self.runs.seeds, "prune": self.prune, "at_once": 1,  # names the file of earlier searches
        }  # fmt: skip
        opening = SearchState.of(self.out, base.task.name, decides)
        if not opening.exists:
            opening.finished, opening.unfinished = fitting(
                self.out, self.runs, self.space, left=opening.pruned_by_any()
            )
            opening.write()
        return opening

    def run(self) -> list[Trial]:
        """Every trial, in the order in which they were asked for.

        Raises UserError where the first ones all fail, and Interrupted after a signal.
        """
        self.found = []
        proposals = Proposals(
            self.space, greater_is_better=self.metric.greater_is_better, seed=self.runs.base.recipe.seed
        )
        self._tell_known(proposals)
        waiting = self._waiting()
        points = points_in(self.space)
        most = self.trials if points is None else min(self.trials, points)
        while len(self.found) < most and (settings := proposals.ask(next(waiting, None))) is not None:
            trial = self._made(settings, number=len(self.found) + 1)
            self._train(trial)
            pruned = trial.pruned_at is not None
            by_epoch = {epoch: score for epoch, score in trial.by_epoch.items() if isfinite(score)}
            proposals.tell(trial.settings, trial.value, by_epoch=by_epoch, pruned=pruned and bool(by_epoch))
            self.found.append(trial)
            self._require_some()
        return self.found

    def _tell_known(self, proposals: Proposals) -> None:
        for settings in self.opening.finished[: self.trials]:
            trial = Trial(settings=settings, number=len(self.found) + 1, runs=self.runs.of(settings), known=True)
            records = [record for run in trial.runs if (record := record_of(run, self.out)) is not None]
            if len(records) < len(trial.runs):
                continue  # removed since
            trial.finish(records)
            for epoch in rungs(trial.epochs):
                trial.by_epoch[epoch] = self._mean_after(trial, epoch)
            if trial.value is not None:
                proposals.tell_known(settings, trial.value)
                self.found.append(trial)

    def _waiting(self) -> Iterator[Mapping[str, Any]]:
        """Settings to try before Optuna is asked: unfinished ones, and a space that is small as a whole."""
        points = points_in(self.space)
        known = {key_of(trial.settings) for trial in self.found}
        rest = every_point(self.space) if points is not None and points <= self.trials else []
        every = {key_of(settings): settings for settings in [*self.opening.unfinished, *rest]}
        return iter([settings for key, settings in every.items() if key not in known])

    def _made(self, settings: Mapping[str, Any], *, number: int) -> Trial:
        trial = Trial(settings=settings, number=number)
        try:
            trial.runs = self.runs.of(settings)
        except UserError as error:
            trial.failure = str(error)
        diverged = [self.opening.diverged[run.id] for run in trial.runs if run.id in self.opening.diverged]
        trial.failure = trial.failure or next(iter(diverged), "")
        return trial

    def _train(self, trial: Trial) -> None:
        """Trains a trial to its end, or until it is pruned or fails."""
        for epoch in rungs(trial.epochs) if self.prune != "none" else ():
            if not _is_live(trial):
                return
            self._compare(trial, epoch)
        if _is_live(trial):
            outcomes = self._outcomes(trial, None)
            if not self._failed(trial, outcomes):
                trial.finish([one for one in outcomes if isinstance(one, RunRecord)])

    def _compare(self, trial: Trial, epoch: int) -> None:
        """Trains a trial up to an epoch, and prunes it if it is behind."""
        if self._failed(trial, self._outcomes(trial, epoch)):
            return
        trial.by_epoch[epoch] = self._mean_after(trial, epoch)
        rank = self.metric.rank(trial.by_epoch[epoch])
        before = [trial for trial in self.found if epoch in trial.by_epoch]
        reached = [*(self.metric.rank(trial.by_epoch[epoch]) for trial in before), rank]
        finished = [self.metric.rank(trial.by_epoch[epoch]) for trial in before if trial.value is not None]
        if is_behind(self.prune, rank, finished=finished, reached=reached):
            trial.pruned_at = epoch
            self._note_pruned(trial)

    def _note_pruned(self, trial: Trial) -> None:
        """Keeps other searches from taking its runs for interrupted ones, and removes what killed processes left."""
        if new := [run.id for run in trial.runs if run.id not in self.opening.pruned]:
            self.opening.pruned += new
            self.opening.write()
        for run in trial.runs:
            folder_of(run, self.out).clean()

    def _outcomes(self, trial: Trial, epoch: int | None) -> list[Outcome]:
        """The outcomes of a trial's runs, after an epoch or at their end; what is known is not run."""
        known = {run.id: found for run in trial.runs if (found := self._known(run, epoch)) is not None}
        if len(known) < len(trial.runs):
            settings = ", ".join(f"{key}={value}" for key, value in trial.settings.items())
            self.watch(Note(f"trial {trial.number} of {self.trials}: {settings}"))
        for run in trial.runs:
            if run.id not in known:
                outcome = train_run(run.planned, self.options, self.watch, pause_after=epoch)
                known[run.id] = with_name(run.planned.name, outcome)
        return [known[run.id] for run in trial.runs]

    def _known(self, run: SeedRun, epoch: int | None) -> Outcome | None:
        return record_of(run, self.out) if epoch is None else score_after(run, epoch, self.out)

    def _failed(self, trial: Trial, outcomes: Sequence[Outcome]) -> bool:
        """Whether a run of a trial failed, which then has; a run that diverged is not trained again."""
        for run, outcome in zip(trial.runs, outcomes, strict=True):
            if isinstance(outcome, UserError):
                trial.failure = trial.failure or str(outcome)
            if isinstance(outcome, Diverged):
                self.opening.diverged[run.id] = str(outcome)
                self.opening.write()
        return bool(trial.failure)

    def _mean_after(self, trial: Trial, epoch: int) -> float:
        """The mean score over a trial's seeds after an epoch."""
        scores = [score_after(run, epoch, self.out) for run in trial.runs]
        return self.metric.spacing.mean([score for score in scores if score is not None])

    def _require_some(self) -> None:
        if len(self.found) >= GIVES_UP and all(trial.failure for trial in self.found):
            raise UserError(
                f"the first {len(self.found)} trials failed: {self.found[0].failure}", "Run the recipe alone to see why"
            )


def _is_live(trial: Trial) -> bool:
    return not trial.failure and trial.pruned_at is None
