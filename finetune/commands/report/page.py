"""The page: a verdict, then sections of blocks, rendered with jinja2 (autoescaped); it loads nothing and runs only its
own script, as its Content-Security-Policy says. Blocks are functions, listed here in the order of the page.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from finetune.analysis.diagnosis import diagnosis_of_seeds
from finetune.analysis.pages.templates import script_hash, templates_of
from finetune.commands.report.compared import Group, PageRuns, blocks_of_all, page_runs, sentence
from finetune.commands.report.content import Block, RunFiles, Section, SplitPage
from finetune.commands.report.run import (
    limits_block,
    score_blocks,
    settings_block,
    training_block,
)
from finetune.commands.report.split import calibration_block, class_block, confusion_block, rows_block, scatter_block
from finetune.data.messages import noun
from finetune.runs.record import names_only
from finetune.runs.verdict import verdict_of
from finetune.storage.stored import data_name_of
from finetune.task_types.marked_text import cut

PACKAGE = "finetune.commands.report"
MOST_BYTES = 4_500_000  # of the page
ROW_BYTES = 3_000_000  # of the rows of all splits
OPEN = 2  # runs whose sections are not folded
MOST_HEADLINES = 6
NO_TABLE = "The predictions have no labels, or are of an unknown task type."
TOO_LONG = "Left out, because the page would be too large: make a separate report of this run."

RUN: Sequence[Callable[[RunFiles], Iterator[Block]]] = (score_blocks,)
SPLIT: Sequence[Callable[[SplitPage], Iterator[Block]]] = (
    rows_block, confusion_block, scatter_block, class_block, calibration_block,
)  # fmt: skip
FOLDED: Sequence[Callable[[RunFiles], Iterator[Block]]] = (
    training_block, settings_block, limits_block,
)  # fmt: skip


def render_report(runs: Sequence[RunFiles]) -> str:
    """An HTML page of under 5 MB about one or several runs."""
    templates = templates_of(PACKAGE)
    template, page = templates.get_template("section.html.j2"), page_runs(runs)
    sections, size = list[tuple[Section, Markup]](), 0
    for section in _sections(page):
        text = template.render(section=section)
        if size + len(text.encode()) > MOST_BYTES:
            section = replace(section, blocks=[], note=TOO_LONG)
            text = template.render(section=section)
        size += len(text.encode())
        sections.append((section, Markup(text)))
    script = files(PACKAGE).joinpath("page.js").read_text(encoding="utf-8")
    return templates.get_template("page.html.j2").render(
        title=runs[0].name if len(runs) == 1 else f"{len(runs)} runs",
        opening=_opening(page), sections=sections, script=Markup(script), script_hash=script_hash(script),
    )  # fmt: skip


def _sections(page: PageRuns) -> Iterator[Section]:
    """All runs together, then each run with its splits and a folded rest; of many runs all is folded."""
    several = len(page.runs) > 1
    if several:
        title = "All runs" if page.comparison is None else "A and B compared"
        yield Section(id="all", title=title, blocks=list(blocks_of_all(page)))
    budget = ROW_BYTES // max(1, sum(len(run.tables) for run in page.runs))
    for number, run in enumerate(page.runs, start=1):
        for section in _of_run(run, f"run-{number}", f"{run.name}: " * several, budget):
            yield replace(section, folded=section.folded or len(page.runs) > OPEN)


def _of_run(run: RunFiles, name: str, start: str, budget: int) -> Iterator[Section]:
    missing = f"Missing: {'; '.join(run.missing)}." if run.missing else ""
    blocks = [block for of_run in RUN for block in of_run(run)]
    yield Section(id=name, title=f"{start}Scores", blocks=blocks, note=missing)
    for split, table in run.tables.items():
        section = Section(id=f"{name}-{split}", title=f"{start}Predictions on {split}", note=NO_TABLE * (table is None))
        if table is not None:
            of = SplitPage(table=table, section=section.id, budget=budget)
            section = replace(section, blocks=[block for of_split in SPLIT for block in of_split(of)])
        yield section
    blocks = [block for of_run in FOLDED for block in of_run(run)]
    yield Section(id=f"{name}-rest", title=f"{start}Training, settings, limits", blocks=blocks, folded=True)


def _opening(page: PageRuns) -> dict[str, Any]:
    """A headline for each group of seeds, of a learning curve for the largest size, how many `more` there are, and
    sentences on all of them together. `letters`: the headlines are of A and B, which are compared.
    """
    comparison, sentences = page.comparison, [curve.answer for curve in page.curves]
    smaller = {record.id for curve in page.curves for size in curve.sizes[:-1] for record in size.records}
    leading = [group for group in page.groups if group[0].record.id not in smaller]
    if comparison is not None:
        notes = (f"{note[:1].upper()}{note[1:]}." for note in comparison.notes)
        sentences = [f"{comparison.sides}.", sentence(comparison), *notes]
    return {
        "headlines": [_headline(group, f"run-{page.runs.index(group[0]) + 1}") for group in leading[:MOST_HEADLINES]],
        "more": max(0, len(leading) - MOST_HEADLINES),
        "sentences": sentences,
        "letters": comparison is not None,
    }


def _headline(group: Group, link: str) -> dict[str, Any]:
    """The verdict on runs that differ only in seeds, facts as (name, value), and why the model is bad."""
    record, verdict = group[0].record, verdict_of([run.record for run in group])
    shown = diagnosis_of_seeds([(run.record, run.folder) for run in group]).for_runs_in(group[0].folder.path.parents[1])
    causes = [replace(cause, words=tuple(names_only(cause.words))) for cause in shown.causes[:1]]
    facts = {
        "task": record.task,
        "model": record.model,
        "data": ", ".join(dict.fromkeys(data_name_of(Path(origin)) for origin in record.data_origin.values())),
        "rows": ", ".join(f"{split} {count:,}" for split, count in record.rows.items()),
        "finished": record.finished[:10],
        noun(len(group), "run"): ", ".join(run.record.id for run in group),
    }
    return {
        "level": verdict.level, "sentence": cut(verdict.sentence), "score": verdict.metric.shown(verdict.score),
        "under": f"{verdict.split} {verdict.metric.name}",
        "facts": [(name, cut(value)) for name, value in facts.items() if value], "link": link,
        "cause": next(iter(causes), None),
    }  # fmt: skip
