"""The page: a verdict, then sections of blocks, rendered with jinja2 (autoescaped); it loads nothing and runs only its
own script, as its Content-Security-Policy says.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from finetune.analysis.compare import compare_runs
from finetune.analysis.data_sizes import learning_curves
from finetune.analysis.diagnosis import diagnosis_of_seeds
from finetune.analysis.pages.templates import script_hash, templates_of
from finetune.commands.report.content import RunFiles, Section
from finetune.commands.report.runs import (
    comparison_blocks,
    curve_block,
    difference_words,
    runs_block,
    score_blocks,
    settings_blocks,
    training_block,
)
from finetune.commands.report.split import split_blocks
from finetune.data.in_memory import data_name_of
from finetune.data.messages import noun
from finetune.errors import UserError
from finetune.runs.record import names_only
from finetune.runs.seeds import groups
from finetune.runs.verdict import verdict_of
from finetune.task_types.marked_text import cut

PACKAGE = "finetune.commands.report"
ROW_BYTES = 3_000_000  # of the rows of all splits
OPEN = 2  # runs whose sections are not folded
MOST_HEADLINES = 6
NO_TABLE = "The predictions have no labels, or are of an unknown task type."
Group = Sequence[RunFiles]  # runs that differ only in seeds


def render_report(runs: Sequence[RunFiles]) -> str:
    """An HTML page about one or several runs.

    Two groups of seeds of one task are compared as A and B, unless they are sizes of a learning curve, their rows
    differ, predictions are missing, or the task is unknown. Of several sizes of the data the largest has a headline.
    """
    by_record, records = {id(run.record): run for run in runs}, [run.record for run in runs]
    grouped = [[by_record[id(record)] for record in group] for group in groups(records)]
    curves, comparison = learning_curves(records, {run.record.id: run.folder for run in runs}), None
    if not curves and len(grouped) == 2 and len({record.task for record in records}) == 1:
        with suppress(UserError, KeyError):
            comparison = compare_runs(*([run.folder for run in group] for group in grouped))
    sentences, sections = [curve.answer for curve in curves], list[Section]()
    blocks = [*map(curve_block, curves), runs_block(records)]
    if comparison is not None:
        notes = (f"{note[:1].upper()}{note[1:]}." for note in comparison.notes)
        sentences = [f"{comparison.sides}.", difference_words(comparison), *notes]
        blocks = [*comparison_blocks(comparison, [[run.record for run in group] for group in grouped]), *blocks]
    if len(runs) > 1:
        title = "All runs" if comparison is None else "A and B compared"
        sections.append(Section(id="all", title=title, blocks=blocks))
    budget = ROW_BYTES // max(1, sum(len(run.tables) for run in runs))
    for number, run in enumerate(runs, start=1):
        sections += _sections(run, f"run-{number}", several=len(runs) > 1, folded=len(runs) > OPEN, budget=budget)
    smaller = {record.id for curve in curves for size in curve.sizes[:-1] for record in size.records}
    leading = [group for group in grouped if group[0].record.id not in smaller]
    script = files(PACKAGE).joinpath("page.js").read_text(encoding="utf-8")
    return templates_of(PACKAGE).get_template("page.html.j2").render(
        title=runs[0].name if len(runs) == 1 else f"{len(runs)} runs",
        headlines=[_headline(group, f"run-{runs.index(group[0]) + 1}") for group in leading[:MOST_HEADLINES]],
        more=max(0, len(leading) - MOST_HEADLINES), sentences=sentences, letters=comparison is not None,
        sections=sections, script=Markup(script), script_hash=script_hash(script),
    )  # fmt: skip


def _sections(run: RunFiles, name: str, *, several: bool, folded: bool, budget: int) -> Iterator[Section]:
    """A run's scores, the predictions of each split, and a folded rest."""
    start, missing = f"{run.name}: " * several, f"Missing: {'; '.join(run.missing)}." * bool(run.missing)
    yield Section(id=name, title=f"{start}Scores", blocks=[*score_blocks(run.record)], note=missing, folded=folded)
    for split, table in run.tables.items():
        section = f"{name}-{split}"
        yield Section(
            id=section, title=f"{start}Predictions on {split}", note=NO_TABLE * (table is None),
            blocks=[] if table is None else [*split_blocks(table, section, budget)], folded=folded,
        )  # fmt: skip
    rest = [*training_block(run.record), *settings_blocks(run.record)]
    yield Section(id=f"{name}-rest", title=f"{start}Training, settings, notes", blocks=rest, folded=True)


def _headline(group: Group, link: str) -> dict[str, Any]:
    """The verdict on runs that differ only in seeds, facts as (name, value), and why the model is bad."""
    record, verdict = group[0].record, verdict_of([run.record for run in group])
    diagnosis = diagnosis_of_seeds([(run.record, run.folder) for run in group]).for_runs_in(
        group[0].folder.path.parents[1]
    )
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
        "cause": next((replace(cause, words=tuple(names_only(cause.words))) for cause in diagnosis.causes), None),
    }  # fmt: skip
