"""`model.explain`: what each word adds to a prediction."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from finetune.analysis.pages.templates import templates_of, write_page
from finetune.api.inputs import in_memory, is_path
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.errors import UserError
from finetune.inference.explain.explanation import ExplainedRow, signed
from finetune.inference.explain.pieces import text_pieces
from finetune.task_types.explained import Asked

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.inference.predictor import Predictor

MOST_ROWS = 20  # of data


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
    from finetune.inference.explain.explain import explain_row
    from finetune.inference.explain.gradients import require_captum

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
    from finetune.commands.explain.rows import first_rows_of_file, row_of_run, row_of_texts

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
