"""`model.explain`: what each word adds to a prediction."""

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from finetune.analysis.pages.templates import templates_of, write_page
from finetune.api.inputs import in_memory, is_path
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.data.reading import records
from finetune.errors import UserError
from finetune.inference.answer_rows import rows_of_records
from finetune.inference.explanation import ExplainedRow, signed, text_pieces
from finetune.inference.predict_plan import columns_read, known_type
from finetune.runs.folder import read_lines
from finetune.runs.lookup import named_run
from finetune.runs.record_files import load_record
from finetune.task_types.explained import Asked
from finetune.task_types.predictions import row_of_line

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.inference.predictor import Predictor

MOST_ROWS = 20  # of data
IDS_SHOWN = 3


def require_one(texts: Sequence[str], row: str | None, rows: Any) -> None:
    """Raises UserError unless one of the three is given."""
    if sum(given is not None for given in (texts or None, row, rows)) != 1:
        raise UserError("give one of a text, `row` and `rows`", "Leave the others out")


def explained(
    predictor: "Predictor",
    run: str,
    texts: Sequence[str],
    *,
    row: str | None,
    split: str | None,
    rows: Any,
    asked: Asked,
) -> tuple[list[ExplainedRow], list[str]]:
    """The rows with what their words add, and notes; of `rows` the first MOST_ROWS. Needs torch.

    `run` is the folder of the run whose predictions `row` is looked up in.
    """
    from finetune.inference.explain import explain_row
    from finetune.inference.explanation import require_captum

    require_one(texts, row, rows)
    require_captum()
    chosen, notes = _chosen(predictor, run, texts, row=row, split=split, rows=rows)
    return [explain_row(predictor, each, asked) for each in chosen], notes


def write_explanation_page(rows: Sequence[ExplainedRow], file: Path, *, model: str, force: bool) -> None:
    """Writes an HTML page. Raises UserError if it cannot be written."""
    require_replaceable_output(file, endings=PAGE, force=force)
    write_explained(rows, file, model=model)


def _chosen(
    predictor: "Predictor", run: str, texts: Sequence[str], *, row: str | None, split: str | None, rows: Any
) -> tuple[list["Row"], list[str]]:
    if row is not None:
        return [row_of_run(predictor, run, str(row), split=split, out=Path())], []
    if rows is None:
        return [row_of_texts(predictor, texts)], []
    with ExitStack() as stack:
        if is_path(rows):
            return first_rows_of_file(predictor, Path(rows), most=MOST_ROWS)
        folder = Path(stack.enter_context(TemporaryDirectory()))
        return first_rows_of_file(predictor, stack.enter_context(in_memory(rows, folder)), most=MOST_ROWS)


def write_explained(rows: Sequence[ExplainedRow], output: Path, *, model: str) -> int:
    """Writes the page and returns its size in bytes. Raises UserError without jinja2, and if it cannot be written."""
    template = templates_of("finetune.commands.explain").get_template("page.html.j2")
    return write_page(template.render(rows=rows, model=model, pieces=text_pieces, signed=signed), output)


def row_of_texts(predictor: "Predictor", texts: Sequence[str]) -> "Row":
    """A row of texts in the order of the model's inputs; choices follow their context.

    Raises UserError for another number of texts, and for an empty one.
    """
    if any(not text.strip() for text in texts):
        raise UserError("the text is empty", "Give it at least one word")
    return predictor.row(predictor.python_rows.arranged(tuple(texts)))


def row_of_run(predictor: "Predictor", model: str, name: str, *, split: str | None, out: Path) -> "Row":
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


def first_rows_of_file(predictor: "Predictor", file: Path, *, most: int) -> tuple[list["Row"], list[str]]:
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
