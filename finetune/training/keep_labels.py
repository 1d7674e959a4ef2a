"""`keep_labels`: a run is trained further with its labels; the rows of its head are copied by the names of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
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
    """`keep_labels`: `old` is the task of the run that is trained further, and `id` its id."""

    old: Task
    id = ""

    def before_reading(self, run: RunState) -> None:
        """Gives the task the old labels and then its new ones; with `shared` no old label that its rows lack.

        Raises UserError for a model that is not a run's, for a task of another type, and for labels that do not fit.
        """
        recipe, weights = run.recipe, run.weights
        folder = None if is_new(recipe.model) else RunFolder(weights.folder.parent)
        record = None if folder is None else folder.record()
        if folder is None or record is None or weights.folder.name != folder.model.name:
            raise UserError(
                f"keep_labels with model={recipe.model}, which is not a finished run: an encoder has no labels to keep",
                "Name a run (model=RUN; `finetune ls` lists them), or leave keep_labels out",
            )
        same_file = registry.in_file(recipe.task) and record.recipe["task"] == recipe.task
        self.old, self.id = trained_on(folder, task=run.default if same_file else None), record.id
        self._require_fit(run.task)
        run.task = self._extended(run.task, recipe.keep_labels, changed_options(run.default, run.task))
        run.default = self._extended(run.default, recipe.keep_labels, {})

    def _require_fit(self, task: Task) -> None:
        """Raises UserError for rows of another type, without a common label, or with another spelling of a label."""
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
        """The task with the old labels too. Raises UserError for a shipped task, whose labels are fixed."""
        old, new, data = self.old.label_names, task.label_names, own_data(task)
        labels = [name for name in old if keep != "shared" or name in new]
        if data is None:
            if lost := [name for name in labels if name not in new]:
                raise UserError(
                    f"keep_labels: {task.name} has labels of its own, and cannot keep {_listed(lost)} of run {self.id}",
                    "keep_labels=shared leaves them out",
                )
            return task
        labels += [name for name in new if name not in old]
        ordered = {*labels} <= {*data.layout.order}  # an order without the old labels is none
        layout = replace(data.layout, labels=(*labels,), order=data.layout.order if ordered else ())
        changed = trained_task(layout, name=task.name, read=replace(data, layout=layout))
        return replace(configured(changed, options), dev_splits=task.dev_splits)

    def after_building(self, run: RunState) -> None:
        """Copies the old head, with a note on its rows and the new ones."""
        carry_head(load_trained(run.weights.folder, self.old.head), run.model)
        old, new = self.old.label_names, run.task.label_names
        note = f"the head is that of run {self.id}"
        if old:
            note = f"the head has the rows of {_listed([label for label in old if label in new])} from run {self.id}"
        if added := [label for label in new if label not in old]:
            note += f"; new are {_listed(added)}, whose rows begin at random, as in a new head"
        if left_out := [label for label in old if label not in new]:
            note += f"; {_listed(left_out)} left out"
        run.model.notes.append(note)


def _listed(names: Sequence[str]) -> str:
    return first_of([shown(name) for name in names], NAMES_SHOWN)


def carry_head(trained: EncoderWithHead, new: EncoderWithHead) -> None:
    """Copies the head, and the layer mix or BiLSTM below it; rows of labels that `trained` lacks are not changed.

    Raises UserError where the layers have other shapes.
    """
    old_labels, new_labels = trained.head.rows_by_label, new.head.rows_by_label
    reads = [(model.backbone.pooling, model.backbone.layer_indices(pooled=model.pooled)) for model in (trained, new)]
    for old, part in ((trained.backbone.reader, new.backbone.reader), (trained.head, new.head)):
        source, state = ({} if module is None else module.state_dict() for module in (old, part))
        begins = new_labels if part is new.head else ()
        layers = {name: next(filter(name.startswith, begins), "") for name in state}  # output layers, of labels
        if reads[0] != reads[1] or _shapes(source, layers) != _shapes(state, layers):
            raise UserError(
                "keep_labels: the head of that run reads the encoder in another way",
                "Leave layers, bilstm, pooling and options of the head as they are in that run",
            )
        for name, tensor in state.items():
            if not (layer := layers[name]):
                tensor.copy_(source[name])
                continue
            labels = old_labels[layer] or [""]  # without labels there is a single row
            for index, label in enumerate(new_labels[layer] or [""]):
                if label in labels:
                    tensor[index] = source[name][labels.index(label)]


def _shapes(state: Mapping[str, Tensor], layers: Mapping[str, str]) -> dict[str, torch.Size]:
    """Shapes by name; output layers may differ in their rows, which are labels."""
    return {name: tensor.shape[1:] if layers.get(name) else tensor.shape for name, tensor in state.items()}
