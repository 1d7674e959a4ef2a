"""The page: a verdict, then sections of blocks, rendered with jinja2 (autoescaped); it loads nothing and runs only its
own script, as its Content-Security-Policy says.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from finetune.analysis.pages.templates import templates_of
from finetune.commands.report.blocks import Section
from finetune.commands.report.opening import opening
from finetune.commands.report.page_runs import page_runs
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.sections import WeightsByRow, sections_of

MOST_BYTES = 4_500_000
DEEP = 4  # sections of a page whose contents name the blocks too
TOO_LONG = "Left out, because the page would be too large: make a separate report of this run."


def render_report(runs: Sequence[RunFiles], weights: WeightsByRow | None = None) -> str:
    """An HTML page of under 5 MB about one or several runs.

    `weights` has what each word of a row adds to its prediction, by the run's id, the split and the row's id.
    """
    templates = templates_of("finetune.commands.report")
    page = page_runs(runs)
    sections = list(sections_of(page, weights or {}))
    script = files("finetune.commands.report").joinpath("page.js").read_text(encoding="utf-8")
    return templates.get_template("page.html.j2").render(
        title=runs[0].name if len(runs) == 1 else f"{len(runs)} runs",
        opening=opening(page), sections=sections, deep=len(sections) <= DEEP,
        rendered=_rendered(sections, templates), script=Markup(script), script_hash=_hash(script),
    )  # fmt: skip


def _rendered(sections: Sequence[Section], templates: Environment) -> list[Markup]:
    template = templates.get_template("section.html.j2")
    done: list[Markup] = []
    size = 0
    for section in sections:
        text = template.render(section=section)
        if size + len(text.encode()) > MOST_BYTES:
            text = template.render(section=replace(section, blocks=[], note=TOO_LONG))
        size += len(text.encode())
        done.append(Markup(text))
    return done


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
