"""Runs a search, and scores its winner on rows that chose nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from finetune.commands.search.plan import SearchPlan
from finetune.commands.search.pruning import RULES, Rule
from finetune.commands.search.result import HeldOutScore, Search
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.events import Note, Watcher
from finetune.runs.seeds import summarised
from finetune.training.run_options import RunOptions

if TYPE_CHECKING:
    from finetune.commands.search.study import Study
    from finetune.commands.search.trial import Trial

TRIALS, SEEDS = 30, 3  # defaults
MOST_FOLDS = 20
HONEST = "`test_share` or `folds` give a score on rows that chose nothing"


def execute_search(
    plan: SearchPlan,
    options: RunOptions,
    *,
    trials: int,
    seeds: int,
    prune: Rule,
    test_share: float,
    folds: int,
    watch: Watcher,
) -> Search:
    """Runs a search and scores its winner. Needs torch. Raises UserError as `search` does."""
    _require_numbers(trials, seeds, prune, test_share, folds)
    searching = _Searching(plan=plan, trials=trials, seeds=seeds, prune=prune, watch=watch, options=options)
    return searching.search(test_share, folds)


@dataclass(frozen=True, kw_only=True)
class _Searching:
    """The studies of a search: one on all training rows but those held out, with folds one more for each."""

    plan: SearchPlan
    trials: int
    seeds: int
    prune: Rule
    options: RunOptions
    watch: Watcher

    def search(self, test_share: float, folds: int) -> Search:
        """The trials, the best of them, and its score on rows that were held out."""
        from finetune.commands.search.notes import against_paper_grid, equal_notes, idle_notes
        from finetune.commands.search.winner import held_out_score, optimism

        plan = self.plan
        for note in idle_notes(plan.space, plan.base.recipe):
            self.watch(Note(note))
        left_out = self._left_out(test_share, 0)
        study = self._study(left_out)
        winner = self._won(study)
        held_out = self._nested(folds) if folds else None
        if test_share:
            summary, winners = held_out_score(study, winner)
            held_out = HeldOutScore(summary=summary, share=test_share, winners=winners)
        command = " ".join([plan.command, *(f"{key}={value}" for key, value in left_out.items())])
        grid = against_paper_grid(study, winner, command=command)
        notes = [*equal_notes(plan.space, study.found), *filter(None, [grid]), *[HONEST] * (held_out is None)]
        return Search(
            found=study.found, best=plan.base.recipe.with_settings(dict(winner.settings), origin="search"),
            winner=winner, space=plan.space, seeds=self.seeds, metric=study.metric,
            split=winner.records[0].first_split, optimism=optimism(study.found, study.metric), held_out=held_out,
            notes=notes, out=self.options.out,
        )  # fmt: skip

    def _study(self, left_out: Mapping[str, Any]) -> "Study":
        from finetune.commands.search.known import SeedRuns
        from finetune.commands.search.study import Study

        recipe, base = self.plan.base.recipe, self.plan.base
        if left_out:
            base = replace(base, recipe=recipe.with_settings(dict(left_out), origin="search"))
        runs = SeedRuns(base=base, seeds=self.seeds, source=self.options.source, device=self.options.device)
        return Study(
            runs=runs, space=self.plan.space, trials=self.trials, prune=self.prune, options=self.options,
            watch=self.watch,
        )  # fmt: skip

    def _won(self, study: "Study") -> "Trial":
        """The best trial of a study, which is run. Raises UserError where none has a score."""
        from finetune.commands.search.winner import best_trial

        best = best_trial(study.run(), study.metric)
        if best is None:
            why = next(trial.failure for trial in study.found if trial.failure)
            raise UserError(f"none of {so_many(len(study.found), 'trial')} has a score: {why}", "Change the space")
        return best

    def _nested(self, folds: int) -> HeldOutScore:
        """The mean score of searches on the fold held out from each (nested cross-validation, Varma & Simon 2006)."""
        from finetune.commands.search.winner import held_out_score

        means = []
        for fold in range(folds):
            self.watch(Note(f"fold {fold + 1} of {folds}"))
            study = self._study(self._left_out(1 / folds, fold))
            means.append(held_out_score(study, self._won(study))[0].mean)
        metric = self.plan.base.task.metrics[0]
        return HeldOutScore(summary=summarised(means, metric), share=1 / folds, folds=folds)

    def _left_out(self, share: float, fold: int) -> dict[str, Any]:
        """The settings that hold rows out, by the data seed; none without a share."""
        given = {"share": share, "fold": fold, "seed": self.plan.base.recipe.seeds[1]}
        return {f"held_out.{key}": value for key, value in given.items() if value or key == "seed"} if share else {}


def _require_numbers(trials: int, seeds: int, prune: str, test_share: float, folds: int) -> None:
    """Raises UserError for numbers out of range, and for two ways of holding rows out."""
    if trials < 1 or seeds < 1:
        name, value = ("trials", trials) if trials < 1 else ("seeds", seeds)
        raise UserError(f"`{name}` is {value}", "Give at least 1")
    if prune not in RULES:
        raise UserError(f"`prune` is '{prune}'", "Give median, halving or none")
    if not 0 <= test_share <= 0.5:
        raise UserError(f"`test_share` is {test_share}", "Give a share over 0 and at most 0.5, such as 0.2")
    if folds and not 2 <= folds <= MOST_FOLDS:
        raise UserError(f"`folds` is {folds}", f"Give 2 to {MOST_FOLDS}")
    if test_share and folds:
        raise UserError("`test_share` and `folds` exclude each other", "Give one of the two")
