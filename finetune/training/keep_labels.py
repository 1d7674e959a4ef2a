"""`keep_labels`: a run trained again, with its labels and their rows of the head, its old rows and its old dev."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from finetune.data.files import is_data
from finetune.data.messages import first_of, shown, so_many
from finetune.data.rows import Row, Rows, chosen_rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.head import Head
from finetune.models.model import EncoderWithHead
from finetune.models.pretrained import ModelFiles
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import OLD_DEV, OLD_MODEL, KeptHead
from finetune.runs.run_id import data_fingerprint
from finetune.task_types import registry
from finetune.task_types.data_type import DataType
from finetune.task_types.held_out import divided
from finetune.task_types.options import changed_options, configured, resolved
from finetune.task_types.own_data import own_data
from finetune.task_types.parts import Answer
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.prepare import load_splits
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.train_share import spread_evenly, with_share
from finetune.task_types.types import trained_task, type_of

NAMES_SHOWN = 3  # labels and rows in a message
OF_ROWS = ("task", "options", "limit", "held_out", "train_share", "seed", "data_seed", "keep_labels", "rehearse")


@dataclass(frozen=True, kw_only=True)
class OldModel:
    """A finished run, its record and its task, of whose data nothing is read yet."""

    folder: RunFolder
    record: RunRecord
    task: Task

    @property
    def kind(self) -> DataType | None:
        """The type of its task."""
        return type_of(self.task)

    def extended(self, task: Task, keep: bool | str, *, default: Task | None = None) -> Task:
        """The task with the labels of this model first, and then its own new ones; with `shared` only of these that it
        has too. `default` is the task without options.

        Raises UserError for a shipped task that lacks some.
        """
        old, own = self.task.label_names, task.label_names
        labels = (*(name for name in old if keep != "shared" or name in own), *(n for n in own if n not in old))
        if set(labels) == set(own):
            return task if own_data(task) is None else _with_labels(task, labels, default)
        if own_data(task) is None:
            lost = [name for name in labels if name not in own]
            raise UserError(
                f"keep_labels: {task.name} has labels of its own, and cannot keep {some_names(lost)} of run "
                f"{self.record.id}",
                "keep_labels=shared leaves them out",
            )
        return _with_labels(task, labels, default)

    def require_fits(self, task: Task, rehearse: float) -> None:
        """Raises UserError for a task of another type, and for no label in common unless old rows are rehearsed."""
        self._require_type(task)
        old, own = self.task.label_names, task.label_names
        _require_spelling(old, own)
        if own and not {*old} & {*own} and not rehearse:
            raise UserError(
                f"keep_labels: no label in common: run {self.record.id} has {some_names(old)}, the new rows "
                f"{some_names(own)}",
                "Name them alike (labels=0=bad,1=good names numbers), train on old rows too (rehearse=0.5), or leave "
                "keep_labels out",
            )

    def dev(self) -> tuple[list[Row], list[Answer]]:
        """The rows of its first dev split, and what it predicted. Raises UserError where they are not there."""
        lines = read_lines(self.folder, self.record.first_split)
        rows = [row_of_line(self.task, line, self.folder.path) for line in lines]
        return rows, [Answer(value=line["prediction"], probabilities=line.get("probabilities")) for line in lines]

    def training_rows(self, source: Source) -> tuple[Task, Rows]:
        """The rows that it was trained on, and their task. Raises UserError where they are lost or changed."""
        recipe = Recipe(**{name: self.record.recipe[name] for name in OF_ROWS if name in self.record.recipe})
        if registry.in_file(recipe.task):
            raise UserError(f"the task {recipe.task} is code, which is not run because a record names it")
        if not is_data(recipe.task) and recipe.task not in registry.available():
            raise UserError(f"{recipe.task} is not there")
        default, task = resolved(recipe.task, recipe.options)
        before = self._before() if recipe.keep_labels else None
        if before is not None:
            task = before.extended(task, recipe.keep_labels, default=default)
        splits = load_splits(task, source, limit=recipe.limit)
        if data_fingerprint({name: loaded.rows for name, loaded in splits.items()}) != self.record.data:
            raise UserError(f"{recipe.task} has changed since run {self.record.id} was trained on it")
        train = trained_on_rows(recipe, task, splits)
        if before is None or not recipe.rehearse:
            return task, train
        dev = [row for name in task.dev_splits for row in splits[name].rows]
        again = before.rehearsed(recipe, task, dev, source)
        return task, replace(train, rows=[*train.rows, *again.rows])

    def rehearsed(self, recipe: Recipe, task: Task, dev: Sequence[Row], source: Source) -> "Rehearsal":
        """Its training rows that are trained on again: a share, drawn by the seed, without those that are in dev."""
        kind = self.kind
        assert kind is not None  # `extended` refuses others
        old_task, train = self.training_rows(source)
        unit = kind.unit
        learned = self.dev()[0] if self.record.learned else []
        there = {unit(row) for row in (*train.rows, *learned)}
        known = [row for row in dev if unit(row) in there]
        found = Rehearsal(known=known, of=len(train.rows))
        if not recipe.rehearse:
            return found
        apart = {unit(row) for row in known}
        units = [[place] for place in range(len(train.rows))]
        order = spread_evenly(old_task, train.rows, units, seed=recipe.seeds[1])[: round(recipe.rehearse * len(units))]
        drawn = chosen_rows(train.rows, sorted(place for (place,) in order))
        kept = [row for row in drawn if self._labels_of(row) <= {*task.label_names}]
        rows = [replace(row, id=f"{self.record.id}:{row.id}") for row in kept if unit(row) not in apart]
        return replace(found, rows=rows)

    def _labels_of(self, row: Row) -> set[str]:
        kind = self.kind
        return {*kind.labels_in(row.gold)} if kind is not None and self.task.label_names else set()

    def _before(self) -> "OldModel | None":
        """The run that this one continued."""
        lineage = self.record.lineage
        if lineage is None:
            return None
        folder = RunFolder.of(self.folder.path.parents[1], lineage.task, lineage.run)
        record = folder.record()
        if record is None:
            raise UserError(f"run {lineage.run}, which run {self.record.id} continued, is not there")
        return OldModel(folder=folder, record=record, task=trained_on(folder))

    def _require_type(self, task: Task) -> None:
        old, new = (type(each).__name__ if (kind := type_of(each)) is None else kind.name for each in (self.task, task))
        if self.kind is None or old != new:
            raise UserError(
                f"keep_labels: run {self.record.id} has the task type {old}, and the new rows have {new}",
                f"Leave keep_labels out, or if the rows are read wrongly, set shape={old}",
            )


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """Old rows to train on again, of so many; `known` are the new dev rows that are among these."""

    rows: Sequence[Row] = ()
    known: Sequence[Row]
    of: int


def old_model(resolved_run: ResolvedRun, weights: ModelFiles | None) -> OldModel | None:
    """The run that is trained again; None without `keep_labels`. Raises UserError for a model that is of no run."""
    recipe = resolved_run.recipe
    if not recipe.keep_labels:
        return None
    folder = RunFolder(weights.folder.parent) if weights is not None else None
    if folder is None or weights is None or weights.folder.name != folder.model.name or folder.record() is None:
        raise UserError(
            f"keep_labels with model={recipe.model}, which is not a finished run: an encoder has no labels to keep",
            "Name a run (model=RUN; `finetune ls` lists them), or leave keep_labels out",
        )
    record = folder.record()
    assert record is not None
    same = registry.in_file(recipe.task) and record.recipe["task"] == recipe.task
    return OldModel(folder=folder, record=record, task=trained_on(folder, task=resolved_run.default if same else None))


def trained_on_rows(recipe: Recipe, task: Task, splits: Mapping[str, Rows]) -> Rows:
    """The rows that are trained on: without those that are held out, and of these a share."""
    train, _ = divided(task, splits[task.train_split], recipe.held_out)
    return with_share(task, train, recipe.train_share, seed=recipe.seeds[1])


def _require_spelling(old: Sequence[str], own: Sequence[str]) -> None:
    """Raises UserError for a new label that is an old one but for case and spaces."""
    folded = {"".join(name.casefold().split()): name for name in old}
    for name in own:
        near = folded.get("".join(name.casefold().split()), name)
        if near != name and name not in old:
            raise UserError(
                f"keep_labels: the new rows have the label {shown(name)}, and the run has {shown(near)}",
                f"Write it as {shown(near)} in the new rows if it is the same, else give it another name",
            )


def _with_labels(task: Task, labels: tuple[str, ...], default: Task | None) -> Task:
    """The task of user data with these labels, which its model saves."""
    read = own_data(task)
    assert read is not None
    ordered = {*labels} <= {*read.layout.order}  # else the order is that of the new labels alone
    layout = replace(read.layout, labels=labels, order=read.layout.order if ordered else ())
    changed = trained_task(layout, name=task.name, read=replace(read, layout=layout))
    options = {} if default is None else changed_options(default, task)
    return replace(configured(changed, options), dev_splits=task.dev_splits)


def some_names(names: Sequence[str]) -> str:
    """`'a', 'b', 'c' and 2 more`."""
    return first_of([shown(name) for name in names], NAMES_SHOWN)


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


def carry_head(trained: EncoderWithHead, new: EncoderWithHead) -> None:
    """Copies the head, and the layer mix or BiLSTM below it; rows of labels that `trained` lacks stay as they began.

    Raises UserError where the layers are of other forms.
    """
    parts = ((trained.backbone.reader, new.backbone.reader), (trained.head, new.head))
    states = [[{} if part is None else part.state_dict() for part in pair] for pair in parts]
    outputs = {name: _layer_of(name, new.head) for name in states[1][1]}
    forms = ([_forms(state, outputs) for state in pair] for pair in states)
    if _reads(trained) != _reads(new) or any(given != own for given, own in forms):
        raise UserError(
            "keep_labels: the head of that run reads the encoder in another way",
            "Leave layers, bilstm, pooling and options of the head as they are in that run",
        )
    for given, state in states:
        for name, tensor in state.items():
            if layer := outputs.get(name):
                for place, before in _places(trained.head.rows_by_label[layer], new.head.rows_by_label[layer]):
                    tensor[place] = given[name][before]
            else:
                tensor.copy_(given[name])


def _reads(model: EncoderWithHead) -> tuple[str, tuple[int, ...]]:
    """The vector and the layers that a head reads."""
    return model.backbone.pooling, model.backbone.layer_indices(pooled=model.pooled)


def _layer_of(name: str, head: Head) -> str:
    """The output layer that a parameter of a head is of; empty for other layers."""
    return next((layer for layer in head.rows_by_label if name.startswith(layer)), "")


def _forms(state: Mapping[str, Tensor], outputs: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The shapes, of output layers without the number of their rows."""
    return {name: tuple(tensor.shape[1:] if outputs.get(name) else tensor.shape) for name, tensor in state.items()}


def _places(trained: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The row of each label in the new and in the trained layer; one without labels has a single row."""
    if not new:
        return [(0, 0)]
    return [(place, trained.index(label)) for place, label in enumerate(new) if label in trained]
