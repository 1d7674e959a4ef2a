"""The page: sections of blocks, rendered with jinja2 (autoescaped)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from finetune.analysis.report import run, several, split
from finetune.analysis.report.blocks import Section
from finetune.analysis.report.find_blocks import blocks_of
from finetune.analysis.report.overview import overview
from finetune.analysis.report.run.settings import settings_block
from finetune.analysis.report.run_files import RunFiles, labels_of
from finetune.analysis.report.temperature import Temperature, temperature_of
from finetune.analysis.templates import templates_of
from finetune.runs.seeds import groups as groups_of
from finetune.task_types.types import view_of
from finetune.task_types.view import View

MOST_BYTES = 4_500_000
TOO_LONG = "Left out, because the page would be too large: make a separate report of this run."


def render(runs: Sequence[RunFiles]) -> str:
    """An HTML page of under 5 MB about one or several runs."""
    templates = templates_of("finetune.analysis.report")
    template = templates.get_template("section.html.j2")
    done: list[Markup] = []
    size = 0
    sections = list(sections_of(runs))
    for section in sections:
        text = template.render(section=section)
        if size + len(text.encode()) > MOST_BYTES:
            text = template.render(section=Section(id=section.id, title=section.title, blocks=[], note=TOO_LONG))
        size += len(text.encode())
        done.append(Markup(text))
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
    return templates.get_template("page.html.j2").render(title=title, sections=sections, rendered=done)


def sections_of(runs: Sequence[RunFiles]) -> Iterator[Section]:
    """All runs together, groups of seeds, then each run with its splits."""
    if len(runs) > 1:
        yield Section(id="all", title="All runs", blocks=[overview(runs), settings_block(runs)])
    by_record = {id(one.record): one for one in runs}
    groups = [[by_record[id(record)] for record in group] for group in groups_of(one.record for one in runs)]
    for number, group in enumerate((group for group in groups if len(group) > 1), start=1):
        title = f"{group[0].record.task}: seeds"
        yield Section(id=f"seeds-{number}", title=title, blocks=list(blocks_of(several, group)))
    for number, one in enumerate(runs, start=1):
        missing = f"Missing: {'; '.join(one.missing)}." if one.missing else ""
        yield Section(id=f"run-{number}", title=one.name, blocks=list(blocks_of(run, one)), note=missing)
        yield from split_sections(one, f"run-{number}")


def split_sections(one: RunFiles, name: str) -> Iterator[Section]:
    """A section per split with predictions. The temperature is fitted on the first."""
    temperature = None
    for of, lines in one.predictions.items():
        view = view_of(lines, labels_of(one.folder), name=one.record.recipe.get("options", {}).get("shape", ""))
        found = temperature
        if view is not None and temperature is None and (found := temperature_of(view)):
            temperature = replace(found, fitted_on=of)
        yield split_section(one, of, view and named(view, one, of), found, name)


def split_section(one: RunFiles, of: str, view: View | None, temperature: Temperature | None, name: str) -> Section:
    """The section of one split."""
    note = "" if view else "The predictions have no labels, or are of a task type without a view."
    blocks = [] if view is None else list(blocks_of(split, view, temperature))
    return Section(id=f"{name}-{of}", title=f"{one.name}: {of}", link=of, blocks=blocks, level=3, note=note)


def named(view: View, one: RunFiles, of: str) -> View:
    """The view with label names of a multi-label task from the record, if the model is not available."""
    if view.labels or not view.names_in_scores:
        return view
    groups = dict.fromkeys(name.rpartition("/")[0] for name in one.record.scores[of] if "/" in name)
    return replace(view, labels=list(groups))
