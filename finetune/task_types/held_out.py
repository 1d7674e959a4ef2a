"""Training rows held out from a search, for the score of its winner."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from finetune.data.rows import Row, Rows, chosen_rows, grouped
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import HeldOut
from finetune.task_types.columns import own_data
from finetune.task_types.task import Task
from finetune.task_types.train_share import spread_evenly, with_share
from finetune.task_types.types import type_of


def trained_on_rows(recipe: Recipe, task: Task, splits: Mapping[str, Rows]) -> Rows:
    """The rows that are trained on: without those that are held out, and of these a share."""
    train, _ = divided(task, splits[task.train_split], recipe.held_out)
    return with_share(task, train, recipe.train_share, seed=recipe.seeds[1])


def divided(task: Task, train: Rows, held_out: HeldOut) -> tuple[Rows, Rows]:
    """(rows to train on, rows held out), each in their order.

    Stratified by label; rows with the same text, context or document stay together. Raises UserError where one part
    would have no row, and for data with a column of groups, which rows do not keep.
    """
    if not held_out.share:
        return train, replace(train, rows=[])
    chosen = held_out_rows(task, train, held_out.share, held_out.seed)
    kept = [index for index in range(len(train.rows)) if index not in chosen]
    return tuple(replace(train, rows=chosen_rows(train.rows, some)) for some in (kept, sorted(chosen)))  # type: ignore[return-value]


def held_out_rows(task: Task, train: Rows, share: float, seed: int, *, fold: int = 0) -> set[int]:
    """The indices of the rows that `divided` holds out, with its errors; folds have no row in common."""
    read = own_data(task)
    if read is not None and read.layout.group:
        raise UserError(
            f"rows cannot be held out while those of one {read.layout.group} must stay together",
            "Make a file of test rows yourself: test=FILE",
        )
    size = share * len(train.rows)
    chosen: set[int] = set()
    place = 0
    for unit in spread_evenly(task, train.rows, _units(task, train.rows), seed=seed):
        if fold * size - 0.5 <= place < (fold + 1) * size - 0.5:
            chosen.update(unit)
        place += len(unit)
    if not 0 < len(chosen) < len(train.rows):
        raise UserError(
            f"held_out.share: {share:g} of {len(train.rows):,} training rows leaves one part without rows",
            "Change the share",
        )
    return chosen


def _units(task: Task, rows: Sequence[Row]) -> list[list[int]]:
    """Rows that stay together; where all share one document or context, each row alone."""
    kind = type_of(task)
    units = [] if kind is None else grouped(map(kind.unit, rows))
    return units if len(units) > 1 else [[index] for index in range(len(rows))]
