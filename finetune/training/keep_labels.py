"""`keep_labels`: a run trained again with its labels, whose rows of the head are carried over by name."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from torch import Tensor

from finetune.data.messages import first_of, shown
from finetune.errors import UserError
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import load_trained
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.recipe import is_new
from finetune.runs.record import RunRecord
from finetune.task_types import registry
from finetune.task_types.columns import own_data
from finetune.task_types.options import changed_options, configured
from finetune.task_types.predictions import row_of_line
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.types import trained_task, type_of
from finetune.training.extras import Extra, RunState

NAMES_SHOWN = 3  # labels in a message


class KeepLabels(Extra):
    """`keep_labels`: `old` is the run that is trained again."""

    old: "OldModel"

    def before_reading(self, run: RunState) -> None:
        """Gives the task the old labels first."""
        self.old, keep, default = old_model(run), run.recipe.keep_labels, run.default
        run.task, run.default = self.old.extended(run.task, keep, default=default), self.old.extended(default, keep)

    def after_reading(self, run: RunState) -> None:
        """Raises UserError for pairs where the model reads texts, and for texts where it reads pairs."""
        old, rows = self.old, []
        with suppress(UserError):  # predictions that are not there
            line = read_lines(old.folder, old.record.first_split)[0]
            rows = [row_of_line(old.task, line, old.folder.path), run.train_rows[0]]
        words = ["single texts" if getattr(row, "pair", None) is None else "pairs of texts" for row in rows]
        if len(set(words)) > 1:
            raise UserError(
                f"keep_labels: run {old.record.id} reads {words[0]}, and the new rows are {words[1]}",
                "Name the columns of the texts: text=text, or text=first,second",
            )

    def after_building(self, run: RunState) -> None:
        """Carries the old head, with a note on which rows of it, and how the others begin."""
        carry_head(load_trained(run.weights.folder, self.old.task.head), run.model)
        ours, own, whose = self.old.task.label_names, run.task.label_names, f"run {self.old.record.id}"
        note = f"the head is that of {whose}"
        if ours:
            note = f"the head has the rows of {_some([label for label in ours if label in own])} from {whose}"
        if added := [label for label in own if label not in ours]:
            note += f"; new are {_some(added)}, whose rows begin at random, as in a new head"
        if left_out := [label for label in ours if label not in own]:
            note += f"; {_some(left_out)} left out"
        run.model.notes.append(note)


@dataclass(frozen=True, kw_only=True)
class OldModel:
    """A finished run, its record and its task; nothing of its data is read."""

    folder: RunFolder
    record: RunRecord
    task: Task

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


def old_model(run: RunState) -> OldModel:
    """The run that is trained again.

    Raises UserError for a model that is of no run, for a task of another type, and for no label in common.
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
    old, new = (type(each).__name__ if (of := type_of(each)) is None else of.name for each in (trained, task))
    if type_of(trained) is None or old != new:
        raise UserError(
            f"keep_labels: run {record.id} has the task type {old}, and the new rows have {new}",
            f"Leave keep_labels out, or if the rows are read wrongly, set shape={old}",
        )
    labels, own = trained.label_names, task.label_names
    _require_spelling(labels, own)
    if own and not {*labels} & {*own}:
        raise UserError(
            f"keep_labels: no label in common: run {record.id} has {_some(labels)}, the new rows {_some(own)}",
            "Name them alike (labels=0=bad,1=good names numbers), train on old rows too (old.csv,new.csv), or leave "
            "keep_labels out",
        )
    return OldModel(folder=folder, record=record, task=trained)


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
