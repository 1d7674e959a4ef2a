"""The page: a verdict, then sections of blocks, rendered with jinja2 (autoescaped); it loads nothing and runs only its
own script, as its Content-Security-Policy says.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from markupsafe import Markup

from finetune.analysis.compare import Comparison, compare_runs
from finetune.analysis.data_sizes import LearningCurve, learning_curves
from finetune.analysis.diagnosis import diagnosis_of_seeds
from finetune.analysis.pages.templates import script_hash, templates_of
from finetune.commands.report.compared import boards, comparison_blocks, curve_block, runs_block, sentence
from finetune.commands.report.content import RunFiles, Section
from finetune.commands.report.run import limits_block, score_blocks, settings_block, training_block
from finetune.commands.report.split import split_blocks
from finetune.data.in_memory import data_name_of
from finetune.data.messages import noun
from finetune.errors import UserError
from finetune.runs.record import names_only
from finetune.runs.seeds import groups
from finetune.runs.verdict import verdict_of
from finetune.task_types.marked_text import cut

PACKAGE = "finetune.commands.report"
MOST_BYTES = 4_500_000  # of the page
ROW_BYTES = 3_000_000  # of the rows of all splits
OPEN = 2  # runs whose sections are not folded
MOST_HEADLINES = 6
NO_TABLE = "The predictions have no labels, or are of an unknown task type."
TOO_LONG = "Left out, because the page would be too large: make a separate report of this run."
Group = Sequence[RunFiles]  # runs that differ only in seeds


def render_report(runs: Sequence[RunFiles]) -> str:
    """An HTML page of under 5 MB about one or several runs.

    Two groups of seeds of one task are compared as A and B, unless they are sizes of a learning curve, their rows
    differ, predictions are missing, or the task is unknown.
    """
    by_record, records = {id(run.record): run for run in runs}, [run.record for run in runs]
    grouped = [[by_record[id(record)] for record in group] for group in groups(records)]
    curves, comparison = learning_curves(records, {run.record.id: run.folder for run in runs}), None
    if not curves and len(grouped) == 2 and len({record.task for record in records}) == 1:
        with suppress(UserError, KeyError):
            comparison = compare_runs(*([run.folder for run in group] for group in grouped))
    templates = templates_of(PACKAGE)
    template, sections, size = templates.get_template("section.html.j2"), list[tuple[Section, Markup]](), 0
    for section in _sections(runs, grouped, curves, comparison):
        text = template.render(section=section)
        if size + len(text.encode()) > MOST_BYTES:
            section = replace(section, blocks=[], note=TOO_LONG)
            text = template.render(section=section)
        size += len(text.encode())
        sections.append((section, Markup(text)))
    script = files(PACKAGE).joinpath("page.js").read_text(encoding="utf-8")
    return templates.get_template("page.html.j2").render(
        title=runs[0].name if len(runs) == 1 else f"{len(runs)} runs",
        opening=_opening(runs, grouped, curves, comparison), sections=sections,
        script=Markup(script), script_hash=script_hash(script),
    )  # fmt: skip


def _sections(
    runs: Sequence[RunFiles], grouped: Sequence[Group], curves: Sequence[LearningCurve], comparison: Comparison | None
) -> Iterator[Section]:
    """All runs together, then each run with its splits and a folded rest; of many runs all is folded."""
    several, records = len(runs) > 1, [run.record for run in runs]
    if several:
        sides = [[run.record for run in group] for group in grouped]
        blocks = [] if comparison is None else [*comparison_blocks(comparison, sides)]
        blocks += [*boards(records), *map(curve_block, curves), runs_block(records)]
        yield Section(id="all", title="All runs" if comparison is None else "A and B compared", blocks=blocks)
    budget, folded = ROW_BYTES // max(1, sum(len(run.tables) for run in runs)), len(runs) > OPEN
    for number, run in enumerate(runs, start=1):
        name, start, record = f"run-{number}", f"{run.name}: " * several, run.record
        missing = f"Missing: {'; '.join(run.missing)}." if run.missing else ""
        yield Section(id=name, title=f"{start}Scores", blocks=[*score_blocks(record)], note=missing, folded=folded)
        for split, table in run.tables.items():
            section = f"{name}-{split}"
            yield Section(
                id=section, title=f"{start}Predictions on {split}", note=NO_TABLE * (table is None),
                blocks=[] if table is None else [*split_blocks(table, section, budget)], folded=folded,
            )  # fmt: skip
        rest = chain(training_block(record), settings_block(record), limits_block(run))
        yield Section(id=f"{name}-rest", title=f"{start}Training, settings, limits", blocks=[*rest], folded=True)


def _opening(
    runs: Sequence[RunFiles], grouped: Sequence[Group], curves: Sequence[LearningCurve], comparison: Comparison | None
) -> dict[str, Any]:
    """A headline for each group of seeds, of a learning curve for the largest size, how many `more` there are, and
    sentences on all of them together. `letters`: the headlines are of A and B, which are compared.
    """
    sentences = [curve.answer for curve in curves]
    smaller = {record.id for curve in curves for size in curve.sizes[:-1] for record in size.records}
    leading = [group for group in grouped if group[0].record.id not in smaller]
    if comparison is not None:
        notes = (f"{note[:1].upper()}{note[1:]}." for note in comparison.notes)
        sentences = [f"{comparison.sides}.", sentence(comparison), *notes]
    return {
        "headlines": [_headline(group, f"run-{runs.index(group[0]) + 1}") for group in leading[:MOST_HEADLINES]],
        "more": max(0, len(leading) - MOST_HEADLINES), "sentences": sentences, "letters": comparison is not None,
    }  # fmt: skip


def _headline(group: Group, link: str) -> dict[str, Any]:
    """The verdict on runs that differ only in seeds, facts as (name, value), and why the model is bad."""
    record, verdict = group[0].record, verdict_of([run.record for run in group])
    found = diagnosis_of_seeds([(run.record, run.folder) for run in group]).for_runs_in(group[0].folder.path.parents[1])
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
        "cause": next((replace(cause, words=tuple(names_only(cause.words))) for cause in found.causes), None),
    }  # fmt: skip
