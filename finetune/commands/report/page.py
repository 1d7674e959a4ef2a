"""The page: a verdict, then sections of blocks, rendered with jinja2 (autoescaped); it loads nothing and runs only its
own script, as its Content-Security-Policy says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from finetune.analysis.data_sizes import learning_curves
from finetune.analysis.diagnosis import Diagnosis, diagnosis_of_seeds
from finetune.analysis.pages.templates import script_hash, templates_of
from finetune.commands.report import comparison
from finetune.commands.report.blocks import Section
from finetune.commands.report.facts import results_named
from finetune.commands.report.run_files import PageRuns, RunFiles
from finetune.commands.report.sections import WeightsByRow, sections_of
from finetune.data.messages import noun, so_many
from finetune.runs.folder import with_results
from finetune.runs.record_files import all_records, load_record
from finetune.runs.seeds import groups as groups_of
from finetune.runs.seeds import same_but_seeds
from finetune.runs.verdict import Verdict, baseline_words, verdict_of
from finetune.runs.without_folders import without_own_folders
from finetune.storage.stored import data_name_of
from finetune.task_types.marked_text import cut

MOST_BYTES = 4_500_000
DEEP = 4  # open sections of a page whose contents name the blocks too
TOO_LONG = "Left out, because the page would be too large: make a separate report of this run."
MOST_HEADLINES = 6


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
        opening=opening(page), sections=sections, deep=sum(not section.folded for section in sections) <= DEEP,
        rendered=_rendered(sections, templates), script=Markup(script), script_hash=script_hash(script),
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


def page_runs(runs: Sequence[RunFiles]) -> PageRuns:
    """Groups, curves and comparison of some runs."""
    by_record = {id(one.record): one for one in runs}
    groups = [[by_record[id(record)] for record in group] for group in groups_of(one.record for one in runs)]
    curves = learning_curves([one.record for one in runs], {one.record.id: one.folder for one in runs})
    return PageRuns(runs=runs, groups=groups, curves=curves, comparison=None if curves else comparison.compared(groups))


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The verdict on a run or on seeds: `level` is better, unclear, worse or alone. `facts` are (name, value), and
    `diagnosis` is why the model is bad, and `elsewhere` what its command names without the folder.
    """

    level: str
    sentence: str
    score: str
    under: str
    facts: Sequence[tuple[str, str]]
    link: str
    diagnosis: Diagnosis
    elsewhere: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Headlines:
    """The headlines of a page, `more` than which there are not shown, and sentences on all of them together.

    `letters`: the headlines are those of A and B, which are compared.
    """

    headlines: Sequence[Headline]
    more: int
    sentences: Sequence[str]
    letters: bool


def opening(page: PageRuns) -> Headlines:
    """A headline for each group of seeds; of a learning curve, for the largest size."""
    curves, found = page.curves, page.comparison
    smaller = {record.id for curve in curves for size in curve.sizes[:-1] for record in size.records}
    leading = [group for group in page.groups if group[0].record.id not in smaller]
    return Headlines(
        headlines=[headline(some, link=f"run-{page.runs.index(some[0]) + 1}") for some in leading[:MOST_HEADLINES]],
        more=max(0, len(leading) - MOST_HEADLINES),
        sentences=[curve.answer for curve in curves]
        + ([f"{found.sides}.", comparison.sentence(found), *other_seeds(page.groups)] if found else []),
        letters=found is not None,
    )


def headline(group: Sequence[RunFiles], *, link: str) -> Headline:
    """The headline of runs that differ only in seeds."""
    record, found = group[0].record, verdict_of([one.record for one in group])
    diagnosis, elsewhere = _diagnosis(group)
    rows = ", ".join(f"{split} {count:,}" for split, count in record.rows.items())
    facts = {
        "task": record.task,
        "model": record.model,
        "data": _origin(group[0]),
        "rows": rows,
        "finished": record.finished[:10],
        noun(len(group), "run"): ", ".join(one.record.id for one in group),
    }
    return Headline(
        level=found.level, sentence=cut(found.sentence), score=found.metric.shown(found.score), under=_under(found),
        facts=[(name, cut(value)) for name, value in facts.items() if value], link=link,
        diagnosis=diagnosis, elsewhere=elsewhere,
    )  # fmt: skip


def _diagnosis(group: Sequence[RunFiles]) -> tuple[Diagnosis, Sequence[str]]:
    """Of runs that differ only in seeds, its commands without the folders of this machine; and what the first names by
    its last name alone.
    """
    out = group[0].folder.path.parents[1]
    found = diagnosis_of_seeds([(run.record, run.folder) for run in group]).for_runs_in(out)
    read = [(run.folder.record() or run.record, run.folder) for run in group]
    whole = diagnosis_of_seeds(read).for_runs_in(out)
    typed = [tuple(one.words) for one in whole.causes]
    shortened = [tuple(map(without_own_folders, words)) for words in typed]
    causes = [replace(one, words=words) for one, words in zip(found.causes, shortened, strict=True)]
    pairs = zip(typed[0], shortened[0], strict=True) if causes else ()
    names = [shown.rpartition("=")[2] for word, shown in pairs if shown != word]
    return Diagnosis(causes=tuple(causes)), [name for name in names if not Path(name).exists()]


def _under(found: Verdict) -> str:
    """What is written under the score: metric, interval, best baseline."""
    shown, text = found.metric.shown, f"{found.split} {found.metric.name}"
    if found.interval is not None:
        text += f", 95 % {' to '.join(map(shown, found.interval))}"
    if found.baseline is not None and found.difference is not None:
        text += f"; {baseline_words(found.baseline)} {shown(found.score - found.difference)}"
    return text


def _origin(one: RunFiles) -> str:
    return ", ".join(dict.fromkeys(data_name_of(Path(origin)) for origin in one.record.data_origin.values()))


def other_seeds(groups: Sequence[Sequence[RunFiles]]) -> list[str]:
    """The sentence for the two groups of a comparison; none where both have several seeds."""
    single = [letter for letter, group in zip("AB", groups, strict=True) if len(group) == 1]
    if not single:
        return []
    which = "A and B have one seed each" if len(single) == 2 else f"{single[0]} has one seed"
    text = f"{which}: this compares models, not settings."
    sides = [[one.record.id for one in group] + _left_out(group) for group in groups]
    if left_out := [name for group, side in zip(groups, sides, strict=True) for name in side[len(group) :]]:
        runs = f"{so_many(len(left_out), 'run')} with other seeds ({', '.join(left_out)})"
        every = [name for side in sides for name in side]
        command = with_results("report", *every, out=Path(results_named(groups[0][0])))
        return [f"{text} {runs} {noun(len(left_out), 'is', 'are')} not on this page: {command}"]
    return [f"{text} Train both with 3 seeds, and report all of the runs."]


def _left_out(group: Sequence[RunFiles]) -> list[str]:
    """The ids of runs with other seeds that are not in the group."""
    folder, there = group[0].folder, {one.record.id for one in group}
    others = same_but_seeds(load_record(folder.record_file), all_records(folder.path.parents[1]))
    return [record.id for record in others if record.id not in there]
