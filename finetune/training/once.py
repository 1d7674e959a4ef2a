"""Trains a run once: a finished one is returned as it is, and of several processes one at a time trains it."""

from collections.abc import Callable
from contextlib import nullcontext

from accelerate import Accelerator

from finetune.runs.environment import versions
from finetune.runs.events import AlreadyDone, Done, EventLog, Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.record_parts import logged_seconds
from finetune.training.checkpoints import Checkpoints
from finetune.training.meter import Meter
from finetune.training.run_options import RunOptions


def trained_once(
    folder: RunFolder,
    options: RunOptions,
    accelerator: Accelerator,
    meter: Meter,
    watch: Watcher,
    train: Callable[[RunFolder, Watcher], None],
) -> RunRecord:
    """The record of a run that `train` trains and saves, in a folder and with a log, while `folder` is locked.

    Without `force` that of another process which finished it meanwhile.
    """
    main, wait = accelerator.is_main_process, options.wait and accelerator.num_processes == 1
    with folder.locked(wait=wait, watch=watch) if main else nullcontext():
        accelerator.wait_for_everyone()
        if not options.force and (done := folder.record()) is not None:  # finished by the process that had the lock
            return already_done(folder, done, watch)
        attempt = folder.attempt
        meter.earlier = logged_seconds(attempt.events) if main else 0.0
        log = EventLog(attempt.events, then=watch) if main else watch
        train(attempt, log)
        if main:
            Checkpoints(folder=attempt.checkpoints).delete()
            folder.publish()
            log = EventLog(folder.events, then=watch)
    accelerator.wait_for_everyone()
    record = load_record(folder.record_file)
    log(Done(folder=str(folder.path), scores=record.scores, seconds=record.seconds))
    return record


def already_done(folder: RunFolder, record: RunRecord, watch: Watcher) -> RunRecord:
    """The record of a finished run; removes what a process left that was killed after writing it."""
    Checkpoints(folder=folder.checkpoints).delete()
    folder.clean()
    watch(AlreadyDone(folder=str(folder.path), then=record.versions, now=versions()))
    return record
