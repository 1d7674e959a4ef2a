"""`keep_labels`: a run trained again, with its labels and their rows of the head, its old rows and its old dev."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from finetune.data.files import is_data
from finetune.data.messages import first_of, shown, so_many
from finetune.data.rows import Row, Rows, chosen_rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import load_trained
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.recipe import Recipe, is_new
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import OLD_DEV, OLD_MODEL, KeptHead
from finetune.runs.run_id import data_fingerprint
from finetune.task_types import registry
from finetune.task_types.data_type import DataType
from finetune.task_types.options import changed_options, configured, resolved
from finetune.task_types.own_data import own_data
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import row_of_line
from finetune.task_types.prepare import load_splits
from finetune.task_types.resampling import margin
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.train_share import spread_evenly
from finetune.task_types.types import trained_task, type_of
from finetune.training.extras import Extra, RunState
from finetune.training.prepare import trained_on_rows

NAMES_SHOWN = 3  # labels and rows in a message
OF_ROWS = ("task", "options", "limit", "held_out", "train_share", "seed", "data_seed", "keep_labels", "rehearse")


class KeepLabels(Extra):
    """`keep_labels`: `old` is the run that is trained again, `answers` are its predictions for the rows of OLD_DEV."""

    old: "OldModel"
    answers: Sequence[Answer] = ()

    def before_reading(self, run: RunState) -> None:
        """Gives the task the old labels first."""
        self.old, keep, default = old_model(run), run.recipe.keep_labels, run.default
        run.task, run.default = self.old.extended(run.task, keep, default=default), self.old.extended(default, keep)

    def after_reading(self, run: RunState) -> None:
        """Adds old rows to train on, and the old dev as OLD_DEV; notes tell which.

        Raises UserError where old rows are to be rehearsed and cannot be read, and for pairs where the model reads
        texts.
        """
        old, recipe, task, name = self.old, run.recipe, run.task, self.old.record.id
        rows, known, of, notes = list[Row](), list[Row](), None, list[str]()
        try:
            rows, known, of = old.rehearsed(recipe, task, run.splits, run.source)
        except UserError as error:
            if recipe.rehearse:
                raise UserError(
                    f"rehearse={recipe.rehearse:g}: the training rows of run {name} cannot be read: {error.what}",
                    "Put its data back, start where it was started, or leave rehearse out",
                ) from error
            notes.append(f"dev may have training rows of run {name}, which cannot be read: {error.what}")
        train = run.splits[task.train_split]
        if rows:
            note = (
                f"train: {so_many(len(rows))} of the {of:,} training rows of run {name} are rehearsed, next to "
                f"{len(train.rows):,} new ones"
            )
            train = replace(train, rows=[*train.rows, *rows], notes=(*train.notes, note))
            run.splits[task.train_split], run.rows_learned = train, train.rows
        loaded, self.answers = _old_dev(old, task, train.rows)
        if self.answers:
            run.splits[OLD_DEV] = loaded
            run.task = replace(task, dev_splits=(*task.dev_splits, OLD_DEV))
        else:
            notes += loaded.notes
        first = run.splits[task.dev_splits[0]]
        run.splits[task.dev_splits[0]] = replace(first, notes=(*first.notes, *notes))
        ours, own = old.task.label_names, task.label_names
        run.facts["kept"] = KeptHead(
            run=name,
            carried=[label for label in ours if label in own],
            added=[label for label in own if label not in ours],
            left_out=[label for label in ours if label not in own],
            rehearsed=len(rows),
            of=of,
            known=None if of is None else len(known),
        )

    def after_building(self, run: RunState) -> None:
        """Carries the old head, with a note on which rows of it, and how the others begin."""
        carry_head(load_trained(run.weights.folder, self.old.task.head), run.model)
        facts: KeptHead = run.facts["kept"]
        note = f"the head is that of run {facts.run}"
        if self.old.task.label_names:
            note = f"the head has the rows of {_some(facts.carried)} from run {facts.run}"
            new = f"; new are {_some(facts.added)}, whose rows begin at random, as in a new head"
            note += (new if facts.added else "") + (f"; {_some(facts.left_out)} left out" if facts.left_out else "")
        run.model.notes.append(note)

    def after_scoring(self, run: RunState) -> None:
        """Adds the old answers as a baseline, and the lead over them."""
        if not self.answers:
            return
        run.baselines[OLD_DEV] = methods = {OLD_MODEL: list(self.answers)}
        task, answers = run.found.task, run.found.answers[OLD_DEV]
        plain = [one for one in task.metrics if "/" not in one.name and not one.name.startswith("macro")]
        task = replace(task, metrics=(*plain, *(one for one in task.metrics if one not in plain)))
        lead = margin(task, run.rows[OLD_DEV], answers, methods)
        run.facts["kept"] = run.facts["kept"].model_copy(update={"metric": task.metrics[0].name, "margin": lead})


@dataclass(frozen=True, kw_only=True)
class OldModel:
    """A finished run, its record, its task and the type of that; nothing of its data is read yet."""

    folder: RunFolder
    record: RunRecord
    task: Task
    kind: DataType

    def extended(self, task: Task, keep: bool | str, *, default: Task | None = None) -> Task:
        """The task with the labels of this model first, and then its own new ones; with `shared` only of these that it
        has too. `default` is the task without options.

        Raises UserError for a shipped task that lacks some.
        """
        old, own, read = self.task.label_names, task.label_names, own_data(task)
        labels = (*(name for name in old if keep != "shared" or name in own), *(n for n in own if n not in old))
        if read is not None:
            ordered = {*labels} <= {*read.layout.order}  # else the order is that of the new labels alone
            layout = replace(read.layout, labels=labels, order=read.layout.order if ordered else ())
            changed = trained_task(layout, name=task.name, read=replace(read, layout=layout))
            options = {} if default is None else changed_options(default, task)
            return replace(configured(changed, options), dev_splits=task.dev_splits)
        if lost := [name for name in labels if name not in own]:
            raise UserError(
                f"keep_labels: {task.name} has labels of its own, and cannot keep {_some(lost)} of run "
                f"{self.record.id}",
                "keep_labels=shared leaves them out",
            )
        return task

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
        lineage = self.record.lineage if recipe.keep_labels else None
        before = lineage and _of_run(RunFolder.of(self.folder.path.parents[1], lineage.task, lineage.run))
        if before:
            task = before.extended(task, recipe.keep_labels, default=default)
        splits = load_splits(task, source, limit=recipe.limit)
        if data_fingerprint({name: loaded.rows for name, loaded in splits.items()}) != self.record.data:
            raise UserError(f"{recipe.task} has changed since run {self.record.id} was trained on it")
        train = trained_on_rows(recipe, task, splits)
        if before and recipe.rehearse:
            rows, _, _ = before.rehearsed(recipe, task, splits, source)
            train = replace(train, rows=[*train.rows, *rows])
        return task, train

    def rehearsed(
        self, recipe: Recipe, task: Task, splits: Mapping[str, Rows], source: Source
    ) -> tuple[list[Row], list[Row], int]:
        """Its training rows that are trained on again: a share, drawn by the seed, without those that are in dev; the
        dev rows that are among its training rows, and the number of these.
        """
        old_task, train = self.training_rows(source)
        learned = self.dev()[0] if self.record.learned else []
        unit, there = self.kind.unit, {self.kind.unit(row) for row in (*train.rows, *learned)}
        known = [row for name in task.dev_splits for row in splits[name].rows if unit(row) in there]
        apart = {unit(row) for row in known}
        units = [[place] for place in range(len(train.rows))]
        order = spread_evenly(old_task, train.rows, units, seed=recipe.seeds[1])[: round(recipe.rehearse * len(units))]
        rows = [
            replace(row, id=f"{self.record.id}:{row.id}")
            for row in chosen_rows(train.rows, sorted(place for (place,) in order))
            if self.is_kept(row, task) and unit(row) not in apart
        ]
        return rows, known, len(train.rows)

    def is_kept(self, row: Row, task: Task) -> bool:
        """Whether a task has all labels of an old row."""
        return not self.task.label_names or {*self.kind.labels_in(row.gold)} <= {*task.label_names}


def old_model(run: RunState) -> OldModel:
    """The run that is trained again.

    Raises UserError for a model that is of no run, for a task of another type, and for no label in common unless old
    rows are rehearsed.
    """
    recipe, task = run.recipe, run.task
    folder = None if is_new(recipe.model) else RunFolder(run.weights.folder.parent)
    record = None if folder is None else folder.record()
    if folder is None or record is None or run.weights.folder.name != folder.model.name:
        raise UserError(
            f"keep_labels with model={recipe.model}, which is not a finished run: an encoder has no labels to keep",
            "Name a run (model=RUN; `finetune ls` lists them), or leave keep_labels out",
        )
    same = registry.in_file(recipe.task) and record.recipe["task"] == recipe.task
    trained = trained_on(folder, task=run.default if same else None)
    kind = type_of(trained)
    old, new = (type(each).__name__ if (of := type_of(each)) is None else of.name for each in (trained, task))
    if kind is None or old != new:
        raise UserError(
            f"keep_labels: run {record.id} has the task type {old}, and the new rows have {new}",
            f"Leave keep_labels out, or if the rows are read wrongly, set shape={old}",
        )
    labels, own = trained.label_names, task.label_names
    _require_spelling(labels, own)
    if own and not {*labels} & {*own} and not recipe.rehearse:
        raise UserError(
            f"keep_labels: no label in common: run {record.id} has {_some(labels)}, the new rows {_some(own)}",
            "Name them alike (labels=0=bad,1=good names numbers), train on old rows too (rehearse=0.5), or leave "
            "keep_labels out",
        )
    return OldModel(folder=folder, record=record, task=trained, kind=kind)


def _of_run(folder: RunFolder) -> OldModel:
    """The old model of a run that was itself trained again. Raises UserError where it is not there."""
    record = folder.record()
    if record is None:
        raise UserError(f"run {folder.path.name}, which that run continued, is not there")
    task = trained_on(folder)
    kind = type_of(task)
    assert kind is not None  # `old_model` refuses others
    return OldModel(folder=folder, record=record, task=task, kind=kind)


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


def _some(names: Sequence[str]) -> str:
    """`'a', 'b', 'c' and 2 more`."""
    return first_of([shown(name) for name in names], NAMES_SHOWN)


def _old_dev(old: OldModel, task: Task, train: Sequence[Row]) -> tuple[Rows, Sequence[Answer]]:
    """The old dev rows and answers, without rows that are trained on now, and those whose label is left out."""
    name, why = old.record.first_split, ""
    found = Rows(rows=(), origin=str(old.folder.predictions(name)))
    rows, answers = list[Row](), list[Answer]()
    if name in old.record.learned:
        why = "it has learned these rows too, after they were scored"
    else:
        try:
            rows, answers = old.dev()
        except UserError as error:
            why = error.what
    if why:
        return replace(found, notes=(f"the old model is not compared on its dev: {why}",)), ()
    before, now = (getattr(some[0], "pair", None) is not None for some in (rows, train))
    if before != now:
        words = {True: "pairs of texts", False: "single texts"}
        raise UserError(
            f"keep_labels: run {old.record.id} reads {words[before]}, and the new rows are {words[now]}",
            "Name the columns of the texts: text=text, or text=first,second",
        )
    seen = {old.kind.unit(row) for row in train}
    unseen = [pair for pair in zip(rows, answers, strict=True) if old.kind.unit(pair[0]) not in seen]
    kept = [pair for pair in unseen if old.is_kept(pair[0], task)]
    left_out = (
        (len(rows) - len(unseen), "are training rows now"),
        (len(unseen) - len(kept), "have a label that is left out"),
    )
    notes = [f"{OLD_DEV}: {so_many(count)} of {len(rows):,} {why}; left out" for count, why in left_out if count]
    if not kept:
        notes.append(f"{OLD_DEV} has no rows left")
    return replace(found, rows=[row for row, _ in kept], notes=tuple(notes)), [answer for _, answer in kept]


def carry_head(trained: EncoderWithHead, new: EncoderWithHead) -> None:
    """Copies the head, and the layer mix or BiLSTM below it; rows of labels that `trained` lacks stay as they began.

    Raises UserError where the layers are of other forms.
    """
    before, now = trained.head.rows_by_label, new.head.rows_by_label
    reads = [(model.backbone.pooling, model.backbone.layer_indices(pooled=model.pooled)) for model in (trained, new)]
    fits = reads[0] == reads[1]
    for old, part in ((trained.backbone.reader, new.backbone.reader), (trained.head, new.head)):
        given, state = ({} if each is None else each.state_dict() for each in (old, part))
        layers = {name: next((one for one in now if part is new.head and name.startswith(one)), "") for name in state}
        fits = fits and _forms(given, layers) == _forms(state, layers)
        if not fits:
            raise UserError(
                "keep_labels: the head of that run reads the encoder in another way",
                "Leave layers, bilstm, pooling and options of the head as they are in that run",
            )
        for name, tensor in state.items():
            if not (layer := layers[name]):
                tensor.copy_(given[name])
            elif not now[layer]:  # without labels there is a single row
                tensor[0] = given[name][0]
            else:
                for place, label in enumerate(now[layer]):
                    if label in before[layer]:
                        tensor[place] = given[name][before[layer].index(label)]


def _forms(state: Mapping[str, Tensor], layers: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The shapes, of output layers without the number of their rows."""
    return {name: tuple(tensor.shape[1:] if layers.get(name) else tensor.shape) for name, tensor in state.items()}
