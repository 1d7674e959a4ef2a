"""A share of the training rows, for a learning curve: smaller shares are within larger ones."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from finetune.data.rows import Row, Rows, chosen_rows, grouped
from finetune.errors import UserError
from finetune.runs.seeds import exact_percent
from finetune.task_types.prepare import scoring_groups
from finetune.task_types.task import Task
from finetune.task_types.types import type_of


def with_share(task: Task, train: Rows, share: float, *, seed: int) -> Rows:
    """The training rows with `share` (over 0 to 1) of them, in their order, stratified by label.

    They are a function of the rows' content and of `seed`, and those of a smaller share are among them. Sentences of a
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
    kept: list[int] = []
    for unit in spread_evenly(task, train.rows, _units(task, train.rows), seed=seed):
        if len(kept) >= wanted:
            break
        kept += unit
    return replace(train, rows=chosen_rows(train.rows, sorted(kept)))


def spread_evenly(task: Task, rows: Sequence[Row], units: Sequence[list[int]], *, seed: int) -> list[list[int]]:
    """The units so that each beginning of the list has about the same share of every stratum, and each stratum early.

    Unit number `rank` of the `n` of its stratum has its place at `rank / n`.
    """
    kind = type_of(task)
    strata = [""] * len(rows) if kind is None else kind.strata(rows)
    members: defaultdict[str, list[tuple[bytes, int]]] = defaultdict(list)
    for number, unit in enumerate(units):
        members[str(strata[unit[0]])].append((_digest([rows[index] for index in unit], seed), number))
    places = [
        (rank / len(some), digest, number)
        for some in members.values()
        for rank, (digest, number) in enumerate(sorted(some))
    ]
    return [units[number] for _, _, number in sorted(places)]


def _units(task: Task, rows: Sequence[Row]) -> list[list[int]]:
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
