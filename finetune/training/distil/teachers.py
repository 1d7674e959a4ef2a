"""Finds the runs that a recipe names as teachers, and the rows that they alone answer. Needs no torch."""

from dataclasses import replace
from pathlib import Path

from finetune.data.messages import first_of
from finetune.data.paths import is_file, is_folder
from finetune.data.reading import first_rows, table_of
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import no_run
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types import registry
from finetune.task_types.own_data import own_data, usable_rows
from finetune.task_types.parts import teaching_of
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import type_of
from finetune.training.named_runs import TEACHER, meant_run, with_named

LABELS_SHOWN = 6


def with_teachers(one: ResolvedRun, out: Path) -> ResolvedRun:
    """The run with the folders of the runs that `distil.teacher` names.

    Raises UserError for a task that cannot be taught, and for a teacher that is not a run, of another task type or with
    other labels, or no better than its own baselines.
    """
    distil = one.recipe.distil
    if distil.given and teaching_of(one.task) is None:
        raise UserError(f"{one.task.name}: its task type learns no answers of a teacher", "Leave distil out")
    if not distil.teachers:
        return one
    if distil.text:  # before anything is trained
        require_text(one.task, Path(distil.text))
    folders: tuple[Path, ...] = ()
    for name in distil.teachers:
        run, note = _teacher(name, one, out)
        folders, one = (*folders, run.path), with_named(one, TEACHER, name, run, note)
    if several := next((folder for folder in folders if "," in str(folder)), None):
        raise UserError(f"{several}: a comma separates teachers", "Keep results in a folder without one (`out`)")
    named = distil.model_copy(update={"teacher": ",".join(map(str, folders))})
    return replace(one, recipe=one.recipe.model_copy(update={"distil": named}))


def _teacher(name: str, student: ResolvedRun, out: Path) -> tuple[RunFolder, str]:
    """A teacher, once it has passed, and a note where there was a choice."""
    if is_folder(Path(name)) and not RunFolder(Path(name)).record_file.is_file():
        raise UserError(f"distil.teacher={name}: that folder is not a finished run (no record.json)", "Name a run")
    run, note = meant_run(name, TEACHER, out, student)
    if run is None:
        error = no_run(name, out)
        raise UserError(f"distil.teacher={name}: {error.what}", error.way_out)
    record = load_record(run.record_file)
    own = registry.in_file(student.recipe.task) and record.task == student.task.name
    _require_same_answers(name, trained_on(run, task=student.default if own else None), student.task)
    if not student.recipe.distil.weak:
        _require_better(name, record)
    return run, note


def _require_same_answers(name: str, teacher: Task, student: Task) -> None:
    theirs, ours = teaching_of(teacher), teaching_of(student)
    assert ours is not None
    if theirs is None or replace(theirs, labels=ours.labels) != ours or bool(theirs.labels) != bool(ours.labels):
        raise UserError(
            f"distil.teacher={name}: it is a {_kind(teacher)} model, and {student.name} is a {_kind(student)} task",
            "Name a teacher of the same task type",
        )
    if set(theirs.labels) != set(ours.labels):
        raise UserError(
            f"distil.teacher={name}: it has the labels {first_of(theirs.labels, LABELS_SHOWN)}, and {student.name} has "
            f"{first_of(ours.labels, LABELS_SHOWN)}",
            "Name a teacher with the same labels",
        )


def _kind(task: Task) -> str:
    """The name of a task's type, such as `regression`; of one without, its class."""
    kind = type_of(task)
    return type(task).__name__ if kind is None else kind.name


def _require_better(name: str, record: RunRecord) -> None:
    """Raises UserError for a teacher that a baseline of its own record equals."""
    metric, split = record.metric(record.headline), record.first_split
    best = record.best_baseline(split, record.headline)
    if best is not None and not record.beats_baselines:
        raise UserError(
            f"distil.teacher={name}: its {split} {record.headline} is {metric.shown(record.score)}, and the best of "
            f"its own baselines has {metric.shown(best)}",
            "Train a better teacher; or set distil.weak=true to take this one",
        )


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
