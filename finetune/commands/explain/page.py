"""Rows with what each word adds, as an HTML page without scripts."""

from collections.abc import Sequence
from pathlib import Path

from finetune.analysis.pages.templates import templates_of
from finetune.analysis.pages.write import write_page
from finetune.inference.explain.explanation import ExplainedRow, signed
from finetune.inference.explain.pieces import text_pieces


def write_explained(rows: Sequence[ExplainedRow], output: Path, *, model: str) -> int:
    """Writes the page and returns its size in bytes. Raises UserError without jinja2, and if it cannot be written."""
    template = templates_of("finetune.commands.explain").get_template("page.html.j2")
    return write_page(template.render(rows=rows, model=model, pieces=text_pieces, signed=signed), output)
