"""Several runs, one after the other, of which one that fails does not keep the others from running."""

import os
from pathlib import Path

import torch

from finetune.errors import UserError
from finetune.events import Watcher
from finetune.recipe import Recipe
from finetune.record import RunRecord
from finetune.run import run
from finetune.source import Source


def run_all(
    recipes: list[tuple[str, Recipe]], *, source: Source, out: Path, watch: Watcher, device: str | None, force: bool
) -> tuple[list[RunRecord], list[UserError]]:
    """The records of those that came to their end, and what kept the others from theirs."""
    records, failures = [], []
    for name, recipe in recipes:
        try:
            records.append(run(recipe, source=source, out=out, watch=watch, device=device, force=force))
        except (UserError, OSError, torch.OutOfMemoryError) as error:
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                raise  # the other processes would wait for this one for ever
            failures.append(_failure(error, name if len(recipes) > 1 else ""))
        finally:
            watch("end")
    return records, failures


def _failure(error: Exception, name: str) -> UserError:
    """What kept a run from its end, as a user's error; `name` says which of several runs."""
    prefix = f"{name}: " if name else ""
    if isinstance(error, UserError):
        return UserError(f"{prefix}{error.what}", error.way_out)
    if isinstance(error, OSError):
        return UserError(f"{prefix}{error}", "Free space, or choose another folder with --out")
    return UserError(f"{prefix}out of memory", "Lower train.batch_size or max_length, or raise train.accumulation")
