"""`keep_labels`: a run trained again with its labels, whose rows of the head are carried over by name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from finetune.data.messages import first_of, shown
from finetune.errors import UserError
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import load_trained
from finetune.runs.folder import RunFolder
from finetune.runs.settings import is_new
from finetune.task_types import registry
from finetune.task_types.columns import own_data
from finetune.task_types.options import changed_options, configured
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.types import trained_task
from finetune.training.extras import Extra, RunState
from finetune.training.first_runs import type_name

NAMES_SHOWN = 3  # labels in a message


class KeepLabels(Extra):
    """`keep_labels`: `old` is the task of the run that is trained again, and `id` its id."""

    old: Task
    id = ""

    def before_reading(self, run: RunState) -> None:
        """Gives the task the old labels first, and then its own new ones; with `shared` only those that it has too.

        Raises UserError for a model that is of no run, for a task of another type, and for labels that do not fit.
        """
        recipe, weights = run.recipe, run.weights
        folder = None if is_new(recipe.model) else RunFolder(weights.folder.parent)
        record = None if folder is None else folder.record()
        if folder is None or record is None or weights.folder.name != folder.model.name:
            raise UserError(
                f"keep_labels with model={recipe.model}, which is not a finished run: an encoder has no labels to keep",
                "Name a run (model=RUN; `finetune ls` lists them), or leave keep_labels out",
            )
        same = registry.in_file(recipe.task) and record.recipe["task"] == recipe.task
        self.old, self.id = trained_on(folder, task=run.default if same else None), record.id
        self._require_fit(run.task)
        run.task = self._extended(run.task, recipe.keep_labels, changed_options(run.default, run.task))
        run.default = self._extended(run.default, recipe.keep_labels, {})

    def _require_fit(self, task: Task) -> None:
        """Raises UserError for rows of another type, for no label in common, and for one that is spelled otherwise."""
        kinds = [type_name(self.old), type_name(task)]
        if kinds[0] != kinds[1]:
            raise UserError(
                f"keep_labels: run {self.id} has the task type {kinds[0]}, and the new rows have {kinds[1]}",
                f"Leave keep_labels out, or if the rows are read wrongly, set shape={kinds[0]}",
            )
        old, new = self.old.label_names, task.label_names
        folded = {"".join(name.casefold().split()): name for name in old}
        for name in new:
            near = folded.get("".join(name.casefold().split()), name)
            if near != name and name not in old:
                raise UserError(
                    f"keep_labels: the new rows have the label {shown(name)}, and the run has {shown(near)}",
                    f"Write it as {shown(near)} in the new rows if it is the same, else give it another name",
                )
        if new and not {*old} & {*new}:
            raise UserError(
                f"keep_labels: no label in common: run {self.id} has {_listed(old)}, the new rows {_listed(new)}",
                "Name them alike (labels=0=bad,1=good names numbers), or train on old rows too (old.csv,new.csv)",
            )

    def _extended(self, task: Task, keep: bool | str, options: Mapping[str, object]) -> Task:
        """The task with the old labels. Raises UserError for a shipped task, whose labels are its own."""
        old, own, read = self.old.label_names, task.label_names, own_data(task)
        labels = [name for name in old if keep != "shared" or name in own]
        if read is None:
            if lost := [name for name in labels if name not in own]:
                raise UserError(
                    f"keep_labels: {task.name} has labels of its own, and cannot keep {_listed(lost)} of run {self.id}",
                    "keep_labels=shared leaves them out",
                )
            return task
        labels += [name for name in own if name not in old]
        ordered = {*labels} <= {*read.layout.order}  # else only the new labels are in it
        layout = replace(read.layout, labels=(*labels,), order=read.layout.order if ordered else ())
        changed = trained_task(layout, name=task.name, read=replace(read, layout=layout))
        return replace(configured(changed, options), dev_splits=task.dev_splits)

    def after_building(self, run: RunState) -> None:
        """Carries the old head, with a note on which rows of it, and how the others begin."""
        carry_head(load_trained(run.weights.folder, self.old.head), run.model)
        old, own = self.old.label_names, run.task.label_names
        note = f"the head is that of run {self.id}"
        if old:
            note = f"the head has the rows of {_listed([label for label in old if label in own])} from run {self.id}"
        if added := [label for label in own if label not in old]:
            note += f"; new are {_listed(added)}, whose rows begin at random, as in a new head"
        if left_out := [label for label in old if label not in own]:
            note += f"; {_listed(left_out)} left out"
        run.model.notes.append(note)


def _listed(names: Sequence[str]) -> str:
    """`'a', 'b', 'c' and 2 more`."""
    return first_of([shown(name) for name in names], NAMES_SHOWN)


def carry_head(trained: EncoderWithHead, new: EncoderWithHead) -> None:
    """Copies the head, and the layer mix or BiLSTM below it; rows of labels that `trained` lacks stay as they began.

    Raises UserError where the layers are of other forms.
    """
    before, now = trained.head.rows_by_label, new.head.rows_by_label
    reads = [(model.backbone.pooling, model.backbone.layer_indices(pooled=model.pooled)) for model in (trained, new)]
    for old, part in ((trained.backbone.reader, new.backbone.reader), (trained.head, new.head)):
        source, state = ({} if module is None else module.state_dict() for module in (old, part))
        layers = {name: next((row for row in now if part is new.head and name.startswith(row)), "") for name in state}
        if reads[0] != reads[1] or _forms(source, layers) != _forms(state, layers):
            raise UserError(
                "keep_labels: the head of that run reads the encoder in another way",
                "Leave layers, bilstm, pooling and options of the head as they are in that run",
            )
        for name, tensor in state.items():
            if not (layer := layers[name]):
                tensor.copy_(source[name])
                continue
            old_labels = before[layer] or [""]  # without labels there is a single row
            for place, label in enumerate(now[layer] or [""]):
                if label in old_labels:
                    tensor[place] = source[name][old_labels.index(label)]


def _forms(state: Mapping[str, Tensor], layers: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The shapes, of output layers without the number of their rows."""
    return {name: tuple(tensor.shape[1:] if layers.get(name) else tensor.shape) for name, tensor in state.items()}
