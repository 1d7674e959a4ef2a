"""Runs several recipes; a failed run does not stop the rest."""

import os
from collections.abc import Sequence
from dataclasses import replace

from finetune.data.messages import so_many
from finetune.errors import UserError, first_line
from finetune.models.device import is_out_of_memory
from finetune.runs.events import Ended, Note, Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.process import first_process
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run import run
from finetune.training.run_options import RunOptions, tracked

Outcome = RunRecord | UserError  # the record, or why it failed


def run_all(
    runs: Sequence[ResolvedRun], options: RunOptions, *, watch: Watcher
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of finished runs, and the errors of failed ones, each in the order of the runs.

    Runs whose encoders others start from are trained first, each once; their records are not among those returned.
    """
    outcomes = _outcomes(runs, options, watch)
    failures = [outcome for outcome in outcomes if isinstance(outcome, UserError)]
    return [outcome for outcome in outcomes if isinstance(outcome, RunRecord)], failures


def _outcomes(runs: Sequence[ResolvedRun], options: RunOptions, watch: Watcher) -> list[Outcome]:
    """The outcome of each run, after the runs whose encoders others start from. One whose first run failed fails with
    it; errors of several name the recipe.
    """
    before: dict[int, Outcome] = {}
    if firsts := list({id(planned.first): planned.first for planned in runs if planned.first is not None}.values()):
        names = ", ".join(dict.fromkeys(first.name for first in firsts))
        watch(Note(f"{so_many(len(firsts), 'run')} of {names} first, for the encoders that the others start from"))
        trained = _outcomes(firsts, replace(options, force=False), watch)  # a finished one is not trained again
        before = dict(zip(map(id, firsts), trained, strict=True))
    outcomes = list[Outcome]()
    for planned in runs:
        try:
            ready = planned if planned.first is None else _with_encoder(planned, before[id(planned.first)], options)
        except UserError as error:
            outcomes.append(UserError(f"{planned.name}: {error.what}", error.way_out))
            continue
        outcome = train_run(ready, options, watch)
        if len(runs) > 1 and isinstance(outcome, UserError):
            outcome = type(outcome)(f"{planned.name}: {outcome.what}", outcome.way_out)
        outcomes.append(outcome)
    return outcomes


def _with_encoder(planned: ResolvedRun, first: Outcome, options: RunOptions) -> ResolvedRun:
    """The run with the folder of its first run. Raises UserError where that failed or has no model."""
    if isinstance(first, UserError):
        raise UserError(f"the run of its model {planned.recipe.model} failed ({first.what})", first.way_out)
    folder = RunFolder.of(options.out, first.task, first.id)
    folder.require_model()
    return replace(planned, encoder=folder.path)


def train_run(planned: ResolvedRun, options: RunOptions, watch: Watcher) -> Outcome:
    """Trains a run in this process.

    Raises what is not the user's to fix, Interrupted after a signal, and in one of several processes every error.
    """
    first, why = first_process(), ""
    try:
        with tracked(options.track if first else (), watch) as watcher:
            return run(planned, options, watch=watcher)
    except (UserError, OSError, RuntimeError) as error:
        failure = _failure(error)
        why = f"{type(error).__name__}: {error}" if failure is None else failure.what
        if failure is None:
            raise
        if os.environ.get("WORLD_SIZE", "1") != "1":
            raise failure from error  # the other processes would wait for this one forever
        return failure
    finally:
        watch(Ended(failure=why))


def _failure(error: Exception) -> UserError | None:
    """An exception as UserError; None for a fault of the code."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, OSError):
        return UserError(str(error), "Free space, or choose another folder with `out`")
    if isinstance(error, RuntimeError) and is_out_of_memory(error):
        return UserError(
            "out of memory",
            "Set train.gradient_checkpointing=true, raise train.accumulation, or lower train.batch_size or max_length",
        )
    if "deterministic" in str(error):
        return UserError(first_line(error), "Leave deterministic = true out, or train on the CPU")
    return None
