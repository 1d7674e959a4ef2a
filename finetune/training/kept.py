"""What `keep_labels` adds to a run: old rows to train on, the old dev, and what is told of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from finetune.data.messages import so_many
from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.runs.record_parts import OLD_DEV, OLD_MODEL, KeptHead
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task
from finetune.training.old_model import NAMES_SHOWN, OldModel, Rehearsal, some_names


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What a run takes from an old one: facts for its record, and the old answers on the rows of OLD_DEV."""

    old: OldModel
    facts: KeptHead
    answers: Sequence[Answer] = ()

    @property
    def baselines(self) -> dict[str, dict[str, list[Answer]]]:
        """The old answers as those of a baseline, by split; empty where there are none."""
        return {OLD_DEV: {OLD_MODEL: list(self.answers)}} if self.answers else {}

    @property
    def note(self) -> str:
        """Which rows of the head were carried, and how the others began."""
        facts = self.facts
        if not self.old.task.label_names:
            return f"the head is that of run {facts.run}"
        new = (
            f"; new are {some_names(facts.added)}, whose rows begin at random, as in a new head" if facts.added else ""
        )
        lost = f"; {some_names(facts.left_out)} left out" if facts.left_out else ""
        return f"the head has the rows of {some_names(facts.carried)} from run {facts.run}{new}{lost}"


def join(
    old: OldModel, recipe: Recipe, task: Task, splits: dict[str, Rows], source: Source
) -> tuple[dict[str, Rows], Kept]:
    """The splits with old rows to train on, and the old dev as OLD_DEV; and what is kept, which notes tell.

    Raises UserError where old rows are to be rehearsed and cannot be read, and for pairs where the model reads texts.
    """
    splits, dev = dict(splits), [row for name in task.dev_splits for row in splits[name].rows]
    known: int | None = None
    rehearsal = Rehearsal(known=(), of=0)
    try:
        rehearsal = old.rehearsed(recipe, task, dev, source)
        known = len(rehearsal.known)
        notes = _known_note(old, task, splits, rehearsal)
    except UserError as error:
        if recipe.rehearse:
            raise UserError(
                f"rehearse={recipe.rehearse:g}: the training rows of run {old.record.id} cannot be read: {error.what}",
                "Put its data back, start where it was started, or leave rehearse out",
            ) from error
        notes = [f"dev may have training rows of run {old.record.id}, which cannot be read: {error.what}"]
    first = task.dev_splits[0]
    splits[first] = replace(splits[first], notes=(*splits[first].notes, *notes))
    train = splits[task.train_split]
    if rehearsal.rows:
        note = (
            f"train: {so_many(len(rehearsal.rows))} of the {rehearsal.of:,} training rows of run {old.record.id} are "
            f"rehearsed, next to {len(train.rows):,} new ones"
        )
        train = replace(train, rows=[*train.rows, *rehearsal.rows], notes=(*train.notes, note))
        splits[task.train_split] = train
    ours, own = old.task.label_names, task.label_names
    facts = KeptHead(
        run=old.record.id,
        carried=[name for name in ours if name in own],
        added=[name for name in own if name not in ours],
        left_out=[name for name in ours if name not in own],
        rehearsed=len(rehearsal.rows),
        of=rehearsal.of or None,
        known=known,
    )
    answers: Sequence[Answer] = ()
    loaded, answers = _old_dev(old, task, train.rows)
    if answers:
        splits[OLD_DEV] = loaded
    else:
        splits[first] = replace(splits[first], notes=(*splits[first].notes, *loaded.notes))
    return splits, Kept(old=old, facts=facts, answers=answers)


def _known_note(old: OldModel, task: Task, splits: Mapping[str, Rows], rehearsal: Rehearsal) -> list[str]:
    count = len(rehearsal.known)
    if not count:
        return []
    every = sum(len(splits[name].rows) for name in task.dev_splits)
    ids = ", ".join(str(row.id) for row in rehearsal.known[:NAMES_SHOWN]) + ", ..." * (count > NAMES_SHOWN)
    return [
        f"{count:,} of {so_many(every, 'dev row')} were training rows of run {old.record.id}: the score is too high "
        f"for other rows (id {ids})"
    ]


def _old_dev(old: OldModel, task: Task, train: Sequence[Row]) -> tuple[Rows, Sequence[Answer]]:
    """The old dev rows and answers, without rows that are trained on now, and those whose label is left out."""
    kind, name = old.kind, old.record.first_split
    assert kind is not None
    origin = str(old.folder.predictions(name))
    if name in old.record.learned:
        why = "the old model is not compared on its dev: it has learned these rows too, after they were scored"
        return Rows(rows=(), origin=origin, notes=(why,)), ()
    try:
        rows, answers = old.dev()
    except UserError as error:
        why = f"the old model is not compared on its dev: {error.what}"
        return Rows(rows=(), origin=origin, notes=(why,)), ()
    _require_pairs(old, rows, train)
    seen = {kind.unit(row) for row in train}
    tests: Sequence[tuple[str, Callable[[Any], bool]]] = (
        ("are training rows now", lambda row: kind.unit(row) in seen),
        ("have a label that is left out", lambda row: not old._labels_of(row) <= {*task.label_names}),
    )
    notes = []
    kept = list(zip(rows, answers, strict=True))
    for why, wrong in tests:
        some = [pair for pair in kept if not wrong(pair[0])]
        if len(some) < len(kept):
            notes.append(f"{OLD_DEV}: {so_many(len(kept) - len(some))} of {len(rows):,} {why}; left out")
        kept = some
    if not kept:
        return Rows(rows=(), origin=origin, notes=(*notes, f"{OLD_DEV} has no rows left")), ()
    return Rows(rows=[row for row, _ in kept], origin=origin, notes=tuple(notes)), [answer for _, answer in kept]


def _require_pairs(old: OldModel, rows: Sequence[Row], train: Sequence[Row]) -> None:
    """Raises UserError where one side has pairs and the other has texts."""
    before, now = (getattr(some[0], "pair", None) is not None for some in (rows, train))
    if before != now:
        words = {True: "pairs of texts", False: "single texts"}
        raise UserError(
            f"keep_labels: run {old.record.id} reads {words[before]}, and the new rows are {words[now]}",
            "Name the columns of the texts: text=text, or text=first,second",
        )
