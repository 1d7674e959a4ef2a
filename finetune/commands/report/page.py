"""The page: a verdict, then sections of blocks, rendered with jinja2 (autoescaped); it loads nothing and runs only its
own script, as its Content-Security-Policy says.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from finetune.analysis.data_sizes import learning_curves
from finetune.analysis.diagnosis import Cause, diagnosis_of_seeds
from finetune.analysis.pages.templates import script_hash, templates_of
from finetune.commands.report import comparison
from finetune.commands.report.run_files import Group, PageRuns, RunFiles
from finetune.commands.report.sections import WeightsByRow, sections_of
from finetune.data.messages import noun
from finetune.runs.seeds import groups as groups_of
from finetune.runs.verdict import baseline_words, verdict_of
from finetune.runs.without_folders import without_own_folders
from finetune.storage.stored import data_name_of
from finetune.task_types.marked_text import cut

PACKAGE = "finetune.commands.report"
MOST_BYTES = 4_500_000
DEEP = 4  # open sections of a page whose contents name the blocks too
TOO_LONG = "Left out, because the page would be too large: make a separate report of this run."
MOST_HEADLINES = 6


def render_report(runs: Sequence[RunFiles], weights: WeightsByRow | None = None) -> str:
    """An HTML page of under 5 MB about one or several runs.

    `weights` has what each word of a row adds to its prediction, by the run's id, the split and the row's id.
    """
    templates = templates_of(PACKAGE)
    page = page_runs(runs)
    sections = list(sections_of(page, weights or {}))
    template, size = templates.get_template("section.html.j2"), 0
    rendered: list[Markup] = []
    for section in sections:
        text = template.render(section=section)
        if size + len(text.encode()) > MOST_BYTES:
            text = template.render(section=replace(section, blocks=[], note=TOO_LONG))
        size += len(text.encode())
        rendered.append(Markup(text))
    script = files(PACKAGE).joinpath("page.js").read_text(encoding="utf-8")
    return templates.get_template("page.html.j2").render(
        title=runs[0].name if len(runs) == 1 else f"{len(runs)} runs",
        opening=_opening(page), sections=sections, deep=sum(not section.folded for section in sections) <= DEEP,
        rendered=rendered, script=Markup(script), script_hash=script_hash(script),
    )  # fmt: skip


def page_runs(runs: Sequence[RunFiles]) -> PageRuns:
    """Groups, curves and comparison of some runs."""
    by_record = {id(one.record): one for one in runs}
    groups = [[by_record[id(record)] for record in group] for group in groups_of(one.record for one in runs)]
    curves = learning_curves([one.record for one in runs], {one.record.id: one.folder for one in runs})
    return PageRuns(runs=runs, groups=groups, curves=curves, comparison=None if curves else comparison.compared(groups))


def _opening(page: PageRuns) -> dict[str, Any]:
    """A headline for each group of seeds, of a learning curve for the largest size, how many `more` there are, and
    sentences on all of them together. `letters`: the headlines are of A and B, which are compared.
    """
    curves, found = page.curves, page.comparison
    smaller = {record.id for curve in curves for size in curve.sizes[:-1] for record in size.records}
    leading = [group for group in page.groups if group[0].record.id not in smaller]
    return {
        "headlines": [_headline(some, link=f"run-{page.runs.index(some[0]) + 1}") for some in leading[:MOST_HEADLINES]],
        "more": max(0, len(leading) - MOST_HEADLINES),
        "sentences": [curve.answer for curve in curves]
        + ([f"{found.sides}.", comparison.sentence(found), *comparison.one_seed(page.groups)] if found else []),
        "letters": found is not None,
    }


def _headline(group: Group, *, link: str) -> dict[str, Any]:
    """The verdict on runs that differ only in seeds, facts as (name, value), and why the model is bad."""
    record, found = group[0].record, verdict_of([one.record for one in group])
    shown, under = found.metric.shown, f"{found.split} {found.metric.name}"
    if found.interval is not None:
        under += f", 95 % {' to '.join(map(shown, found.interval))}"
    if found.baseline is not None and found.difference is not None:
        under += f"; {baseline_words(found.baseline)} {shown(found.score - found.difference)}"
    cause, elsewhere = _cause(group)
    facts = {
        "task": record.task,
        "model": record.model,
        "data": ", ".join(dict.fromkeys(data_name_of(Path(origin)) for origin in record.data_origin.values())),
        "rows": ", ".join(f"{split} {count:,}" for split, count in record.rows.items()),
        "finished": record.finished[:10],
        noun(len(group), "run"): ", ".join(one.record.id for one in group),
    }
    return {
        "level": found.level, "sentence": cut(found.sentence), "score": shown(found.score), "under": under,
        "facts": [(name, cut(value)) for name, value in facts.items() if value], "link": link,
        "cause": cause, "elsewhere": elsewhere,
    }  # fmt: skip


def _cause(group: Group) -> tuple[Cause | None, Sequence[str]]:
    """The first cause of the diagnosis, whose command has no folders of this machine; and what that names by its last
    name alone. Only the record with its folders tells which files a command can name.
    """
    out = group[0].folder.path.parents[1]
    shown, whole = (
        diagnosis_of_seeds(some).for_runs_in(out).causes
        for some in (
            [(run.record, run.folder) for run in group],
            [(run.folder.record() or run.record, run.folder) for run in group],
        )
    )
    if not shown or not whole:
        return None, ()
    words = tuple(map(without_own_folders, whole[0].words))
    names = [short.rpartition("=")[2] for word, short in zip(whole[0].words, words, strict=True) if short != word]
    return replace(shown[0], words=words), [name for name in names if not Path(name).exists()]
