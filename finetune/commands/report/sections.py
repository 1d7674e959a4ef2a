"""The sections of a page: all runs together, groups of seeds, then each run with its splits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from finetune.analysis.temperature import Temperature, temperature_of
from finetune.commands.report import all_runs, run, several, split
from finetune.commands.report.blocks import Section, WordWeight
from finetune.commands.report.comparison import letter_titles
from finetune.commands.report.find_blocks import blocks_of
from finetune.commands.report.page_runs import PageRuns
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.split_view import SplitView
from finetune.runs.data_sizes import exact_percent, share_of
from finetune.task_types.run_view import split_view_of
from finetune.task_types.view import View

OPEN = 2  # runs whose sections are not folded
ROW_BYTES = 3_000_000  # of the rows of all splits

WeightsByRow = Mapping[tuple[str, str, str], Sequence[WordWeight]]  # by run's id, split and row's id


def sections_of(page: PageRuns, weights: WeightsByRow) -> Iterator[Section]:
    """All runs together, groups of seeds, then each run with its splits."""
    runs, groups, compared = page.runs, page.groups, page.comparison is not None
    if len(runs) > 1:
        title = "A and B compared" if compared else "All runs"
        yield Section(id="all", title=title, blocks=list(blocks_of(all_runs, page)))
    titles = letter_titles(groups) if compared else [f"{_name(group)}: seeds" for group in groups]
    several_seeds = [(title, group) for title, group in zip(titles, groups, strict=True) if len(group) > 1]
    for number, (title, group) in enumerate(several_seeds, start=1):
        yield Section(id=f"seeds-{number}", title=title, blocks=list(blocks_of(several, group)))
    splits = sum(len(one.predictions) for one in runs)
    for number, one in enumerate(_without_repeated_notes(runs), start=1):
        missing = f"Missing: {'; '.join(one.missing)}." if one.missing else ""
        title = one.name if len(runs) > 1 else "Scores and training"
        first = Section(id=f"run-{number}", title=title, blocks=list(blocks_of(run, one)), note=missing)
        inner = split_sections(one, f"run-{number}", ROW_BYTES // max(1, splits), weights)
        for section in (first, *(inner if len(runs) > 1 else map(_alone, inner))):
            yield replace(section, folded=len(runs) > OPEN)


def _name(group: Sequence[RunFiles]) -> str:
    """The task, and the share of the training rows where that is not all of them."""
    record = group[0].record
    share = share_of(record)
    return record.task if share == 1 else f"{record.task}, {exact_percent(share)} of the rows"


def _without_repeated_notes(runs: Sequence[RunFiles]) -> Iterator[RunFiles]:
    """The runs, each without the notes of those before it: seeds have nearly all in common."""
    seen: set[str] = set()
    for one in runs:
        notes = [note for note in one.record.notes if note not in seen]
        seen.update(notes)
        yield replace(one, record=one.record.model_copy(update={"notes": notes}))


def _alone(section: Section) -> Section:
    """A split's section on a page about one run."""
    return replace(section, title=f"Predictions on {section.link}", link="", level=2)


def split_sections(one: RunFiles, name: str, budget: int, weights: WeightsByRow) -> Iterator[Section]:
    """A section per split with predictions. The temperature is fitted on the first."""
    temperature = None
    for of, lines in one.predictions.items():
        view = split_view_of(one.record, one.folder, of, lines)
        found = temperature
        if view is not None and temperature is None and (found := temperature_of(view)):
            temperature = replace(found, fitted_on=of)
        yield split_section(one, of, view, found, name, budget, weights)


def split_section(
    one: RunFiles,
    of: str,
    view: View | None,
    temperature: Temperature | None,
    name: str,
    budget: int,
    weights: WeightsByRow,
) -> Section:
    """The section of one split."""
    section = Section(id=f"{name}-{of}", title=f"{one.name}: {of}", link=of, blocks=[], level=3)
    if view is None:
        return replace(section, note="The predictions have no labels, or are of a task type without a view.")
    mine = {
        row: some for (run_id, split_name, row), some in weights.items() if (run_id, split_name) == (one.record.id, of)
    }
    given = SplitView(
        view=view, run=one, name=of, section=section.id, temperature=temperature, budget=budget, weights=mine
    )
    return replace(section, blocks=list(blocks_of(split, given)))
