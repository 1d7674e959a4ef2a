"""The rows that are explained: of texts, of a run's saved predictions, or of a file."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from finetune.data.reading import records
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.answer_rows import rows_of_records
from finetune.inference.predict_plan import columns_read, known_type
from finetune.inference.predictor import Predictor
from finetune.runs.lookup import named_run
from finetune.runs.predictions import read_lines
from finetune.runs.record_files import load_record
from finetune.task_types.predictions import row_of_line

IDS_SHOWN = 3


def row_of_texts(predictor: Predictor, texts: Sequence[str]) -> Row:
    """A row of texts in the order of the model's inputs; choices follow their context.

    Raises UserError for another number of texts, and for an empty one.
    """
    if any(not text.strip() for text in texts):
        raise UserError("the text is empty", "Give it at least one word")
    return predictor.row(predictor.python_rows.arranged(tuple(texts)))


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
    task = predictor.task
    read = columns_read(file, known_type(task), predictor.layout, {}, inputs=task.inputs)
    first = rows_of_records(task, ((record, read.layout) for record in islice(records(file, read.form), most)))
    rows = [one.row for one in first if one.row is not None]
    if not rows:
        raise UserError(f"{file}: has no row that can be explained", "Check it with `finetune check`")
    return rows, [*read.notes, *(f"row {one.record.row} {one.error}" for one in first if one.error)]
