"""A model's task on other data, whose columns `finetune evaluate` reads."""

from collections.abc import Mapping
from pathlib import Path

from finetune.data.files import is_data, split_files
from finetune.data.paths import is_folder
from finetune.data.reading import first_rows
from finetune.data.table import Table
from finetune.errors import UserError, nearest
from finetune.inference.predict_plan import SAMPLE, known_type, layout_for, shown_names
from finetune.inference.predictor import saved
from finetune.task_types.columns import Layout
from finetune.task_types.own_data import task_on
from finetune.task_types.pretraining.own import scored_on
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for

OPTIONS = ("text", "label", "encoding", "sheet")


def require_options(data: str, options: Mapping[str, str]) -> None:
    """Raises UserError for an option that does not exist, and for one of data where this is a task."""
    for name in options:
        if name not in OPTIONS:
            near = nearest(name, [*OPTIONS])
            raise UserError(
                f"unknown setting '{name}'", f"{near}Set text=COLUMN, label=COLUMN, encoding=NAME or sheet=NAME"
            )
        if not is_data(data):
            raise UserError(f"{name}= does not apply to the task {data}", "It is for a data file; leave it out")


def task_of_data(model: str, data: str, out: Path, options: Mapping[str, str]) -> Task:
    """The model's task on other data, all of it dev, or on the dev and test of a folder.

    Raises UserError for data without the columns of training that `options` name no others for.
    """
    found, encoding = saved(model, out=out), options.get("encoding", "")
    if (of_text := scored_on(found.task(), data, options)) is not None:
        return of_text
    files = split_files(Path(data)) if is_folder(Path(data)) else {"dev": Path(data)}
    scored = tuple(split for split in ("dev", "test") if split in files) or ("train",)
    columns = {name: value for name, value in options.items() if name in ("text", "label")}
    task, layouts = found.task(), list[Layout]()
    for file in (files[split] for split in scored):
        sample = first_rows(file, form_for(file, found.layout, options, inputs=task.inputs), most=SAMPLE)
        layout, _ = layout_for(known_type(task), found.layout, sample, columns, inputs=task.inputs)
        layouts.append(known_type(task).as_written(layout, sample.columns))
        _require_label(layouts[-1], found.layout, sample)
    files = {"train": files[scored[0]], **files}
    return task_on(task, layouts[0], files, name=data, scored=scored, encoding=encoding, sheet=options.get("sheet", ""))


def _require_label(layout: Layout, trained: Layout | None, sample: Table) -> None:
    """Raises UserError where the column of the labels is unknown, naming those that are left."""
    if layout.label:
        return
    names = " and ".join(f"'{name}'" for name in trained.label) if trained else ""
    raise UserError(
        f"{sample.path}: has no column {names}, which had the labels in training"
        if names
        else f"{sample.path}: the column of the labels is unknown, since the model was not trained on a data file",
        "Name it: label=COLUMN, one of " + shown_names(name for name in sample.columns if name not in layout.text),
    )
