"""Runs several recipes; a failed run does not stop the rest."""

from collections.abc import Sequence
from dataclasses import replace

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.events import Note, Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.executors.job import Executor, Job, Outcome
from finetune.training.run_options import RunOptions


def run_all(
    runs: Sequence[ResolvedRun], options: RunOptions, *, watch: Watcher, executor: Executor
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of finished runs, and the errors of failed ones, each in the order of the runs.

    Runs whose encoders others start from are trained first, each once; their records are not among those returned.
    """
    if any(one.first or one.teachers for one in runs):
        with executor.held(options.out):
            found = _all(runs, options, watch, executor)
    else:
        found = _all(runs, options, watch, executor)
    failures = [one for one in found if isinstance(one, UserError)]
    return [one for one in found if isinstance(one, RunRecord)], failures


def _all(runs: Sequence[ResolvedRun], options: RunOptions, watch: Watcher, executor: Executor) -> list[Outcome]:
    """What became of each run. One whose first run failed fails with it."""
    ready = _with_plain_runs(_with_encoders(runs, options, watch, executor), options, watch, executor)
    jobs = [Job(planned=one, options=options, named=len(runs) > 1) for one in ready if isinstance(one, ResolvedRun)]
    ended = iter(executor.outcomes(jobs, watch))
    return [next(ended) if isinstance(one, ResolvedRun) else one for one in ready]


def _with_encoders(
    runs: Sequence[ResolvedRun], options: RunOptions, watch: Watcher, executor: Executor
) -> list[ResolvedRun | UserError]:
    """The runs with the folders of their first runs, which are trained unless they are finished."""
    firsts = list({id(one.first): one.first for one in runs if one.first is not None}.values())
    if not firsts:
        return list(runs)
    names = ", ".join(dict.fromkeys(one.name for one in firsts))
    watch(Note(f"{so_many(len(firsts), 'run')} of {names} first, for the encoders that the others start from"))
    outcomes = _all(firsts, replace(options, force=False), watch, executor)
    found = dict(zip(map(id, firsts), outcomes, strict=True))
    return [one if one.first is None else _with_encoder(one, found[id(one.first)], options) for one in runs]


def _with_encoder(one: ResolvedRun, first: Outcome, options: RunOptions) -> ResolvedRun | UserError:
    """The run with the folder of its first run; an error where that failed or has no model."""
    if isinstance(first, RunRecord):
        folder = RunFolder.of(options.out, first.task, first.id)
        try:
            folder.require_model()
        except UserError as error:
            return UserError(f"{one.name}: {error.what}", error.way_out)
        return replace(one, encoder=folder.path)
    why = first.what if isinstance(first, UserError) else "it was paused"
    return UserError(
        f"{one.name}: the run of its model {one.recipe.model} failed ({why})", getattr(first, "way_out", "")
    )


def _with_plain_runs(
    runs: Sequence[ResolvedRun | UserError], options: RunOptions, watch: Watcher, executor: Executor
) -> list[ResolvedRun | UserError]:
    """The runs with a teacher with the folders of the same runs without one, which are trained unless they are
    finished. Equal ones are one run.
    """
    taught = [one for one in runs if isinstance(one, ResolvedRun) and one.teachers]
    if not taught:
        return list(runs)
    watch(Note(f"the same without a teacher first, to be compared: {so_many(len(taught), 'run')}"))
    plain = [one.without_teachers for one in taught]
    outcomes = iter(_all(plain, replace(options, force=False), watch, executor))
    return [_with_plain(one, next(outcomes), options) if one in taught else one for one in runs]


def _with_plain(one: ResolvedRun | UserError, plain: Outcome, options: RunOptions) -> ResolvedRun | UserError:
    """The run with the folder of the one without a teacher; an error where that failed."""
    if isinstance(one, ResolvedRun) and isinstance(plain, RunRecord):
        return replace(one, plain=RunFolder.of(options.out, plain.task, plain.id).path)
    return plain if isinstance(plain, UserError) else UserError("the run without a teacher was paused")
