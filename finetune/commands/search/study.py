"""The loop of a search: Optuna proposes settings, their runs are trained, and its journal keeps what came of them.

The journal is `<out>/<task>/search-<hash>.log`; the hash is of all that decides the trials but their number, so that
the same command with more trials continues it. Runs have ids: settings whose runs are finished cost nothing.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pandas as pd

from finetune.api.run import runs_of_records
from finetune.commands.search import Search, plain_settings
from finetune.commands.search.space import SearchPlan, Space, count_points, optuna_package, settings_at, with_point
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.feature_batches import Diverged
from finetune.inference.predictor import load_predictor
from finetune.runs.events import Note, Watcher
from finetune.runs.folder import RunFolder, folder_name
from finetune.runs.record import RunRecord
from finetune.runs.seeds import summarised
from finetune.task_types.held_out import divided
from finetune.task_types.prepare import load_splits
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.prepare import plan_run
from finetune.training.run_many import run_all
from finetune.training.run_options import RunOptions

if TYPE_CHECKING:
    import optuna

FAILED = 3  # trials at the start that all failed, after which a search ends
PROPOSALS = 100  # for each trial, since many may be of settings that were tried already
TRIAL, HELD_OUT = "trial", "held out"  # in the journal: settings, scores and failure of a trial; scores of winners
Trial = dict[str, Any]  # settings (dotted keys), scores (the headline on the first split, one a seed), failure
Trained = Callable[[Mapping[str, Any]], tuple[list[RunRecord], list[UserError]]]  # by settings


def execute_search(
    plan: SearchPlan, options: RunOptions, *, trials: int, seeds: int, test_share: float, watch: Watcher
) -> Search:
    """Runs a search and scores its winner. Raises UserError as `search` does, and Interrupted after a signal."""
    if trials < 1 or seeds < 1 or not 0 <= test_share <= 0.5:
        what = f"`trials` is {trials}, `seeds` is {seeds}, `test_share` is {test_share}"
        raise UserError(what, "Give at least 1 trial and seed, and a share over 0 and at most 0.5, such as 0.2")
    base, metric = plan.base, plan.base.task.metrics[0]
    if test_share:
        shared = {"held_out.share": test_share, "held_out.seed": base.recipe.seeds[1]}
        base = with_point(base, shared, origin="search")

    def trained(settings: Mapping[str, Any]) -> tuple[list[RunRecord], list[UserError]]:
        """The records of a run for each seed, and why others failed; finished runs are not trained again."""
        points = [{**settings, "seed": base.recipe.seed + number} for number in range(seeds)]
        try:
            return run_all([with_point(base, point, origin=base.name) for point in points], options, watch=watch)
        except UserError as error:  # settings that do not go together
            return [], [error]

    study = _opened(base, plan.space, seeds, options)
    tried = _tried(study, plan, trials, trained, watch)
    done = [trial for trial in tried if not trial["failure"]]
    if not done:
        raise UserError(
            f"none of {so_many(len(tried), 'trial')} has a score: {tried[0]['failure']}", "Change the space"
        )
    done.sort(key=lambda trial: -metric.rank(summarised(trial["scores"], metric).mean))
    winner, key = done[0], _key(done[0]["settings"])
    records, failures = trained(winner["settings"])
    if failures:
        raise failures[0]
    scores: dict[str, list[float]] = dict(study.user_attrs.get(HELD_OUT, {}))
    if test_share and key not in scores:
        scores[key] = _held_out_scores(base, records, options, watch)
        study.set_user_attr(HELD_OUT, scores)
    rows = []
    for trial in (*done, *(trial for trial in tried if trial["failure"])):
        summary = summarised(trial["scores"] or [math.nan], metric)
        facts = {"mean": summary.mean, "sd": summary.sd, "n": len(trial["scores"]), "failure": trial["failure"]}
        rows.append({**trial["settings"], **facts})
    return Search(
        trials=pd.DataFrame(rows),
        settings=winner["settings"],
        best=with_point(plan.base, winner["settings"], origin="search").recipe,
        run=runs_of_records(records, out=options.out),
        metric=metric,
        summary=summarised(winner["scores"], metric),
        held_out=summarised(scores[key], metric) if test_share else None,
        winners=len(scores),
    )


def _opened(base: ResolvedRun, space: Space, seeds: int, options: RunOptions) -> "optuna.Study":
    """The study in its journal. Raises UserError for one that cannot be read or written."""
    optuna = optuna_package()
    planned = plan_run(base, source=options.source, device=options.device)
    decides = json.dumps([planned.id, {key: str(dimension) for key, dimension in space.items()}, seeds], sort_keys=True)
    name = f"search-{hashlib.sha256(decides.encode()).hexdigest()[:10]}.log"
    file = options.out / folder_name(base.task.name) / name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        backend = optuna.storages.journal.JournalFileBackend(str(file))
        return optuna.create_study(
            storage=optuna.storages.JournalStorage(backend), study_name="search", load_if_exists=True,
            direction="maximize" if base.task.metrics[0].greater_is_better else "minimize",
        )  # fmt: skip
    except OSError as error:
        what = f"{file}: cannot be read or written ({error.strerror})"
        raise UserError(what, "Choose another folder with `out`") from error
    except (ValueError, KeyError) as error:
        raise UserError(f"{file}: is not the journal of a search", "Delete it: finished runs cost nothing") from error


def _tried(study: "optuna.Study", plan: SearchPlan, most: int, trained: Trained, watch: Watcher) -> list[Trial]:
    """So many trials with different settings; in a smaller space, all that there are.

    Raises UserError where the first ones all fail.
    """
    optuna, metric, size = optuna_package(), plan.base.task.metrics[0], count_points(plan.space)
    most, states = int(min(size, most)), optuna.trial.TrialState
    failed: dict[str, Trial] = {}  # not in the journal: memory or a disk may have room next time
    lost = 0  # proposals of settings that failed
    for _ in range(PROPOSALS * most):
        ended: list[Trial] = [past.user_attrs[TRIAL] for past in study.trials if TRIAL in past.user_attrs]
        tried = {_key(trial["settings"]): trial for trial in ended} | failed
        if len(tried) >= most:
            break
        if len(tried) >= FAILED and all(trial["failure"] for trial in tried.values()):
            why = next(iter(tried.values()))["failure"]
            raise UserError(f"the first {len(tried)} trials failed: {why}", "Run the recipe alone to see why")
        # A seed a trial, and no penalty near unfinished ones: a search that was killed proposes as an undisturbed one.
        seed = (plan.base.recipe.seed + len(ended) + lost) % 2**32
        if size > most:
            study.sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=False)
        else:  # every point is tried
            study.sampler = optuna.samplers.RandomSampler(seed=seed)
        proposed = study.ask(dict(plan.space))
        settings = settings_at(plan.space, proposed.params)
        trial = tried.get(key := _key(settings))
        if trial is None:
            watch(Note(f"trial {len(tried) + 1} of {most}: {plain_settings(settings)}"))
            records, failures = trained(settings)
            scores = [record.score for record in records]
            why = str(failures[0]) if failures else "" if math.isfinite(fmean(scores)) else "its score is undefined"
            trial = {"settings": settings, "scores": [] if why else scores, "failure": why}
            if failures and not isinstance(failures[0], Diverged):
                failed[key] = trial
        if key in failed:
            lost += 1
        else:
            proposed.set_user_attr(TRIAL, trial)
        value = summarised(trial["scores"], metric).mean if trial["scores"] else None
        study.tell(proposed, value, state=states.FAIL if value is None else states.COMPLETE)
    return [*tried.values()]


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)


def _held_out_scores(
    base: ResolvedRun, records: Sequence[RunRecord], options: RunOptions, watch: Watcher
) -> list[float]:
    """The headline scores of runs on the training rows that were held out from them."""
    task, recipe = base.task, base.recipe
    train = load_splits(task, options.source, limit=recipe.limit, names=[task.train_split])[task.train_split]
    _, rows = divided(task, train, recipe.held_out)
    scores = []
    for record in records:
        folder = RunFolder.of(options.out, task.name, record.id).path
        model = load_predictor(folder, task=task, out=options.out, watch=watch, device=options.device)
        test_scores = model.task.score(model.answers(rows.rows), rows.rows)
        scores.append(float(test_scores[task.metrics[0].name]))
    return scores
