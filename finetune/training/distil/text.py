"""Reads a file of rows without labels, which only a teacher answers."""

from dataclasses import replace
from pathlib import Path

from finetune.data.paths import is_file
from finetune.data.reading import first_rows, table_of
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for
from finetune.task_types.own_data import own_data, usable_rows
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for


def require_text(task: Task, path: Path) -> None:
    """Raises UserError for a file that is not there, and for your data's task without the columns of its texts."""
    if not is_file(path):
        raise UserError(f"distil.text={path}: there is no such file", "Name a file of rows without labels")
    if own_data(task) is not None:
        rows_without_labels(task, path)


def rows_without_labels(task: Task, path: Path) -> tuple[list[Row], list[str]]:
    """The rows of a file with a task's columns, without their labels, and notes on those that were left out.

    Raises UserError for a file that cannot be read, and for missing columns.
    """
    own = own_data(task)
    trained = None if own is None else own.layout
    form = form_for(path, trained, {}, inputs=task.inputs)
    sample = first_rows(path, form, most=SAMPLE_ROWS)
    try:
        layout, notes = layout_for(known_type(task), trained, sample, {}, inputs=task.inputs)
    except UserError as error:
        wanted = ", ".join(trained.text if trained else task.inputs)
        raise UserError(f"distil.text={error.what}", f"Name its columns of texts as in training: {wanted}") from error
    rows, _, left = usable_rows(replace(layout, label=()), table_of(path, "", form), unlabelled=True)
    if not rows:
        raise UserError(f"distil.text={path}: has no row that can be used", "Run `finetune check` on it to see why")
    return [replace(row, gold=None) for row in rows], [*notes, *left]
