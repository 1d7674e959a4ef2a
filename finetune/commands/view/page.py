"""Writes the page: one HTML file with its numbers, styles and scripts, which asks for nothing else."""

from pathlib import Path

from finetune.analysis.pages.templates import templates_of
from finetune.analysis.pages.write import write_page
from finetune.commands.view.captions import LANGUAGES, captions, filled
from finetune.commands.view.page_data import page_data
from finetune.commands.view.parts import Inside

SCRIPTS = ("drawing", "captions", "attention", "steps", "words", "outputs", "embeddings", "masks", "stream", "decoder")


def write_inside(inside: Inside, output: Path) -> int:
    """Writes the page and returns its size in bytes. Raises UserError without jinja2, and if it cannot be written."""
    return write_page(render_view(inside), output)


def render_view(inside: Inside) -> str:
    """The page as HTML. Raises UserError without jinja2."""
    templates = templates_of("finetune.commands.view")
    templates.filters["filled"] = filled
    return templates.get_template("page.html.j2").render(
        inside=inside,
        data=page_data(inside),
        scripts=SCRIPTS,
        languages=LANGUAGES,
        captions=captions()["page"],
    )
