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

Outcome = RunRecord | UserError  # the error of a failed run


def run_all(
    runs: Sequence[ResolvedRun], options: RunOptions, *, watch: Watcher
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of finished runs and the errors of failed ones, each in the order of the runs.

    A run that is the encoder of others is trained first, once; its record is not returned.
    """
    outcomes = _outcomes(runs, options, watch)
    failures = [outcome for outcome in outcomes if isinstance(outcome, UserError)]
    return [outcome for outcome in outcomes if isinstance(outcome, RunRecord)], failures


def _outcomes(runs: Sequence[ResolvedRun], options: RunOptions, watch: Watcher) -> list[Outcome]:
    """The outcome of each run, after the first runs of all; a run fails with its first run. Errors name the recipe
    where there are several runs.
    """
    first_outcomes: dict[int, Outcome] = {}
    if firsts := {id(planned.first): planned.first for planned in runs if planned.first is not None}:
        names = ", ".join(dict.fromkeys(first.name for first in firsts.values()))
        watch(Note(f"{so_many(len(firsts), 'run')} of {names} first, for the encoders that the others start from"))
        trained = _outcomes([*firsts.values()], replace(options, force=False), watch)  # `force` is for the runs named
        first_outcomes = dict(zip(firsts, trained, strict=True))
    outcomes = list[Outcome]()
    for planned in runs:
        try:
            first = first_outcomes.get(id(planned.first))
            ready = planned if first is None else _with_encoder(planned, first, options)
        except UserError as error:
            outcomes.append(UserError(f"{planned.name}: {error.what}", error.way_out))
            continue
        outcome = train_run(ready, options, watch)
        if len(runs) > 1 and isinstance(outcome, UserError):
            outcome = type(outcome)(f"{planned.name}: {outcome.what}", outcome.way_out)
        outcomes.append(outcome)
    return outcomes


def _with_encoder(planned: ResolvedRun, first: Outcome, options: RunOptions) -> ResolvedRun:
    """The run with the folder of its first run as its encoder. Raises UserError if that failed or has no model."""
    if isinstance(first, UserError):
        raise UserError(f"the run of its model {planned.recipe.model} failed ({first.what})", first.way_out)
    folder = RunFolder.of(options.out, first.task, first.id)
    folder.require_model()
    return replace(planned, encoder=folder.path)


def train_run(planned: ResolvedRun, options: RunOptions, watch: Watcher) -> Outcome:
    """Trains a run in this process; returns errors that a user can fix.

    Raises all others, and Interrupted after a signal. With several processes it raises every error.
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
        if os.environ.get("WORLD_SIZE", "1") != "1":  # the other processes would wait for this one forever
            raise failure from error
        return failure
    finally:
        watch(Ended(failure=why))


def _failure(error: Exception) -> UserError | None:
    """An exception as UserError; None for a bug."""
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
