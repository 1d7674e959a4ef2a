"""Parts of the training rows, functions of their content and a seed: a share, for a learning curve, in which smaller
shares are; and rows that are held out from a search, for the score of its winner.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from finetune.data.rows import Row, Rows, chosen_rows, grouped
from finetune.errors import UserError
from finetune.runs.recipe import HeldOut, Recipe
from finetune.runs.seeds import exact_percent
from finetune.task_types.columns import own_data
from finetune.task_types.prepare import scoring_groups
from finetune.task_types.task import Task
from finetune.task_types.types import type_of


def trained_on_rows(recipe: Recipe, task: Task, splits: Mapping[str, Rows]) -> Rows:
    """The rows that are trained on: without the held-out rows; of the rest a share."""
    train, _ = divided(task, splits[task.train_split], recipe.held_out)
    return with_share(task, train, recipe.train_share, seed=recipe.seeds[1])


def with_share(task: Task, train: Rows, share: float, *, seed: int) -> Rows:
    """The training rows with `share` (over 0 to 1) of them, in their order, stratified by label.

    They depend on the rows' content and `seed` alone, and a larger share includes a smaller one. Sentences of a
    document that is read as one stay together. Raises UserError for fewer rows than classes.
    """
    if share == 1:
        return train
    wanted, kind = max(1, round(share * len(train.rows))), type_of(task)
    classes = {label for row in train.rows for label in kind.labels_in(row.gold)} if kind is not None else ()
    if wanted < len(classes):
        raise UserError(
            f"train_share: {exact_percent(share)} of {len(train.rows):,} training rows is {wanted:,}, "
            f"fewer than the {len(classes):,} classes",
            "Take a larger share",
        )
    chosen: list[int] = []
    for unit in _spread_evenly(task, train.rows, _read_together(task, train.rows), seed=seed):
        if len(chosen) >= wanted:
            break
        chosen += unit
    return replace(train, rows=chosen_rows(train.rows, sorted(chosen)))


def divided(task: Task, train: Rows, held_out: HeldOut) -> tuple[Rows, Rows]:
    """(rows to train on, rows held out), each in their order.

    Stratified by label; rows with the same text, context or document stay together. Raises UserError where one part
    would have no row, and for data with a column of groups, which rows do not keep.
    """
    if not held_out.share:
        return train, replace(train, rows=[])
    chosen = held_out_rows(task, train, held_out.share, held_out.seed)
    train_indexes = [index for index in range(len(train.rows)) if index not in chosen]
    return tuple(replace(train, rows=chosen_rows(train.rows, indexes)) for indexes in (train_indexes, sorted(chosen)))  # type: ignore[return-value]


def held_out_rows(task: Task, train: Rows, share: float, seed: int, *, fold: int = 0) -> set[int]:
    """The indices of the rows that `divided` holds out, with its errors; folds have no row in common."""
    read = own_data(task)
    if read is not None and read.layout.group:
        raise UserError(
            f"rows cannot be held out while those of one {read.layout.group} must stay together",
            "Make a file of test rows yourself: test=FILE",
        )
    kind = type_of(task)
    units = grouped(map(kind.unit, train.rows)) if kind is not None else []
    units = units if len(units) > 1 else [[index] for index in range(len(train.rows))]  # of one document, each alone
    size = share * len(train.rows)
    chosen: set[int] = set()
    place = 0
    for unit in _spread_evenly(task, train.rows, units, seed=seed):
        if fold * size - 0.5 <= place < (fold + 1) * size - 0.5:
            chosen.update(unit)
        place += len(unit)
    if not 0 < len(chosen) < len(train.rows):
        raise UserError(
            f"held_out.share: {share:g} of {len(train.rows):,} training rows leaves one part without rows",
            "Change the share",
        )
    return chosen


def _spread_evenly(task: Task, rows: Sequence[Row], units: Sequence[list[int]], *, seed: int) -> list[list[int]]:
    """The units so that each beginning of the list has about the same share of every stratum, and each stratum early.

    Unit number `rank` of the `n` of its stratum has its place at `rank / n`.
    """
    kind = type_of(task)
    strata = [""] * len(rows) if kind is None else kind.strata(rows)
    members: defaultdict[str, list[tuple[bytes, int]]] = defaultdict(list)
    for number, unit in enumerate(units):
        members[str(strata[unit[0]])].append((_digest([rows[index] for index in unit], seed), number))
    places = [
        (rank / len(indexes), digest, number)
        for indexes in members.values()
        for rank, (digest, number) in enumerate(sorted(indexes))
    ]
    return [units[number] for _, _, number in sorted(places)]


def _read_together(task: Task, rows: Sequence[Row]) -> list[list[int]]:
    """Groups of rows that are encoded or scored together; single rows where one group would hold all."""
    if (groups := scoring_groups(task, rows)) is not None:
        return grouped(groups)
    units: list[list[int]] = []
    before: Row = None
    for index, row in enumerate(rows):
        if units and task.encode_together(before, row):
            units[-1].append(index)
        else:
            units.append([index])
        before = row
    return units if len(units) > 1 else [[index] for index in range(len(rows))]


def _digest(rows: Sequence[Row], seed: int) -> bytes:
    facts = repr([seed, *((getattr(row, "input", row), getattr(row, "gold", None)) for row in rows)])
    return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).digest()
