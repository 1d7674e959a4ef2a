"""Writes the page: one HTML file with its numbers, styles and scripts, which asks for nothing else."""

from pathlib import Path

from finetune.analysis.pages.templates import templates_of
from finetune.analysis.pages.write import write_page
from finetune.commands.view.captions import LANGUAGES, captions, filled
from finetune.commands.view.page_data import page_data
from finetune.commands.view.parts import Inside

SCRIPTS = (
    *("drawing", "captions", "tokens", "hidden", "attention", "steps", "words", "outputs", "heads", "before"),
    *("embeddings", "masks", "stream", "decoder"),
)
PARTS = (
    *("tokens", "hidden", "attention", "steps", "words", "outputs", "before", "positions", "masks", "stream"),
    "decoder",
)  # in the order of the page


def write_inside(inside: Inside, output: Path, *, language: str | None = None) -> int:
    """Writes the page and returns its size in bytes. It opens in a language, by default in that of the browser.

    Raises UserError without jinja2, and if it cannot be written.
    """
    return write_page(render_view(inside, language=language), output)


def render_view(inside: Inside, *, language: str | None = None) -> str:
    """The page as HTML. Raises UserError without jinja2."""
    lacking = {"before": inside.before, "decoder": inside.written}
    parts = [name for name in PARTS if name not in lacking or lacking[name] is not None]
    templates = templates_of("finetune.commands.view")
    templates.filters["filled"] = filled
    return templates.get_template("page.html.j2").render(
        inside=inside,
        data=page_data(inside) | {"language": language},
        language=language or LANGUAGES[0],
        numbers={name: number for number, name in enumerate(parts, start=1)},
        scripts=SCRIPTS,
        languages=LANGUAGES,
        captions=captions()["page"],
    )
