"""The rows that are explained: of texts, of a run's saved predictions, or of a file."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from finetune.data.reading import first_rows, records
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for
from finetune.inference.predictor import Predictor
from finetune.inference.python_rows import arranged
from finetune.runs.lookup import named_run
from finetune.runs.predictions import read_lines
from finetune.runs.record_files import load_record
from finetune.task_types.predictions import row_of_line
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.trained_form import form_for

IDS_SHOWN = 3


def row_of_texts(predictor: Predictor, texts: Sequence[str]) -> Row:
    """A row of texts in the order of the model's inputs; choices follow their context.

    Raises UserError for another number of texts, and for an empty one.
    """
    if any(not text.strip() for text in texts):
        raise UserError("the text is empty", "Give it at least one word")
    return predictor.row(arranged(predictor, tuple(texts)))


def row_of_run(predictor: Predictor, model: str, name: str, *, split: str | None, out: Path) -> Row:
    """A predicted row of a run, by its id. Raises UserError for an unknown id."""
    folder = named_run(model, out)
    if folder is None:
        raise UserError(f"{model} is not a run: it has no rows of dev", "Give a text, or a file with `rows`")
    of = split or load_record(folder.record_file).first_split
    lines = read_lines(folder, of)
    line = next((line for line in lines if str(line["id"]) == name), None)
    if line is None:
        some = ", ".join(str(line["id"]) for line in lines[:IDS_SHOWN])
        raise UserError(
            f"the split '{of}' of {folder.path} has no row '{name}'",
            f"Its ids are {some} ...; `finetune report` shows them",
        )
    return row_of_line(predictor.task, line, folder.path)


def first_rows_of_file(predictor: Predictor, file: Path, *, most: int) -> tuple[list[Row], list[str]]:
    """The first rows of a data file in any format, and notes on its columns and on rows that cannot be read.

    Raises UserError for a file that cannot be read, without the model's columns, or without a row.
    """
    form = form_for(file, predictor.layout, {}, inputs=predictor.task.inputs)
    kind = known_type(predictor.task)
    sample = first_rows(file, form, most=SAMPLE_ROWS)
    layout, notes = layout_for(kind, predictor.layout, sample, {}, inputs=predictor.task.inputs)
    rows, bare = list[Row](), kind.without_labels(layout, predictor.task)
    for record in islice(records(file, form), most):
        try:
            row = row_of(bare, record)
            if fault := predictor.task.fault(row):
                raise NoRow(fault)
            rows.append(row)
        except NoRow as why:
            notes.append(f"row {record.row} {why}")
    if not rows:
        raise UserError(f"{file}: has no row that can be explained", "Check it with `finetune check`")
    return rows, notes
