"""The page: sections of cards about runs, rendered by jinja2, which escapes every text."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from finetune.analysis.report.blocks import Section
from finetune.analysis.report.run_files import Material, labels_of
from finetune.analysis.report.run_sections import overview_card, run_cards, seed_cards, settings_card
from finetune.analysis.report.seeds import seed_groups
from finetune.analysis.report.split_sections import Temperature, split_cards, temperature_of
from finetune.task_types.marked_text import clean
from finetune.task_types.types import view_of
from finetune.task_types.view import View

MOST_BYTES = 4_500_000
TOO_LONG = "Left out, since the page would be too large: make a report of this run alone."


def render(runs: Sequence[Material]) -> str:
    """A whole HTML page of under 5 MB about one or several runs."""
    templates = Environment(
        loader=PackageLoader("finetune.analysis.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,  # Markup is done already
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = templates.get_template("section.html.j2")
    done: list[Markup] = []
    size = 0
    sections = list(sections_of(runs))
    for section in sections:
        text = template.render(section=section)
        if size + len(text.encode()) > MOST_BYTES:
            text = template.render(section=Section(id=section.id, title=section.title, cards=[], note=TOO_LONG))
        size += len(text.encode())
        done.append(Markup(text))
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
    return templates.get_template("page.html.j2").render(title=title, sections=sections, rendered=done)


def sections_of(runs: Sequence[Material]) -> Iterator[Section]:
    """What runs have in common, groups of seeds, then each run with its splits."""
    if len(runs) > 1:
        yield Section(id="all", title="All runs", cards=[overview_card(runs), settings_card(runs)])
    for number, group in enumerate(seed_groups(runs), start=1):
        if len(group) > 1:
            yield Section(id=f"seeds-{number}", title=f"{group[0].record.task}: seeds", cards=list(seed_cards(group)))
    for number, run in enumerate(runs, start=1):
        missing = f"Not there: {'; '.join(run.missing)}." if run.missing else ""
        yield Section(id=f"run-{number}", title=run.name, cards=list(run_cards(run)), note=missing)
        yield from split_sections(run, f"run-{number}")


def split_sections(run: Material, name: str) -> Iterator[Section]:
    """A section for each split with predictions. The temperature is that of the first one."""
    temperature = None
    for split, lines in run.predictions.items():
        view = view_of(lines, labels_of(run.folder), name=run.record.recipe.get("options", {}).get("shape", ""))
        if view is not None and temperature is None:
            temperature = temperature_of(view)
        yield split_section(run, split, view and named(view, run, split), temperature, f"{name}-{split}")
        if temperature is not None:
            temperature = replace(temperature, of=next(iter(run.predictions)))


def split_section(run: Material, split: str, view: View | None, temperature: Temperature | None, name: str) -> Section:
    """What the predictions of a split say."""
    title = f"{run.name}: {split}"
    if view is None:
        note = "The predictions have no gold, or are of a type of their own, which is not looked into."
        return Section(id=name, title=title, link=split, cards=[], level=3, note=note)
    cards = list(split_cards(view, temperature))
    return Section(id=name, title=title, link=split, cards=cards, level=3)


def named(view: View, run: Material, split: str) -> View:
    """With the names of several labels a row from the record, where the model is not there to tell them."""
    if view.labels or not view.names_in_scores:
        return view
    groups = dict.fromkeys(name.rpartition("/")[0] for name in run.record.scores[split] if "/" in name)
    return replace(view, labels=list(groups))
