"""The order in which runs are started on several workers: the longest first, so that none is left for the end."""

from collections.abc import Sequence

from finetune.errors import UserError
from finetune.task_types.prepare import load_splits
from finetune.training.executors.job import Job


def longest_first(jobs: Sequence[Job]) -> list[int]:
    """The indices of jobs by falling tokens, as rows x epochs x `max_length`; data is read once for equal tasks."""
    rows: dict[str, int] = {}
    costs = []
    for job in jobs:
        recipe = job.planned.recipe
        key = f"{recipe.task} {sorted(recipe.options.items(), key=str)} {recipe.limit}"
        if key not in rows:
            rows[key] = _train_rows(job)
        train = recipe.train
        features = train.epochs * rows[key] * recipe.train_share
        costs.append(recipe.max_length * (train.updates * train.batch_size if train.updates else features))
    return sorted(range(len(jobs)), key=lambda index: -costs[index])


def _train_rows(job: Job) -> int:
    """The number of rows to train on; 0 where they cannot be read, which ends the run at once."""
    task = job.planned.task
    try:
        return len(load_splits(task, job.options.source, limit=job.planned.recipe.limit)[task.train_split].rows)
    except UserError:
        return 0
