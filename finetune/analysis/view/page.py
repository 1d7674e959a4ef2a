"""Writes the page: one HTML file with its numbers, styles and scripts, which asks for nothing else."""

from pathlib import Path

from finetune.analysis.templates import templates_of
from finetune.analysis.view.page_data import as_script, page_data
from finetune.data.atomic import output_file
from finetune.inference.view.inside import Inside

SCRIPTS = ("drawing", "attention", "steps", "words", "outputs", "embeddings")


def write_page(inside: Inside, output: Path) -> int:
    """Writes the page and returns its size in bytes. Raises UserError without jinja2, and if it cannot be written."""
    page = render(inside)
    with output_file(output, remedy="Name another file") as scratch:
        scratch.write_text(page, encoding="utf-8")
    return len(page.encode())


def render(inside: Inside) -> str:
    """The page as HTML. Raises UserError without jinja2."""
    template = templates_of("finetune.analysis.view").get_template("page.html.j2")
    from markupsafe import Markup  # which comes with jinja2

    data = Markup(as_script(page_data(inside)))  # JSON whose signs are escaped
    return template.render(inside=inside, data=data, scripts=SCRIPTS)
