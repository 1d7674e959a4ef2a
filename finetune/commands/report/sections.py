"""The sections of a page: all runs together, groups of seeds, then each run with its splits; what is read first is
open, and the rest follows, folded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, kw_only=True)
class Titles:
    """The titles of a run's sections; `run` is its name on a page of several runs, else empty."""

    run: str

    @property
    def scores(self) -> str:
        """Of the section with the run's scores."""
        return self.run or "Scores"

    def split(self, name: str) -> str:
        """Of a split's section."""
        return f"{self.run}: {name}" if self.run else f"Predictions on {name}"

    def rest_of_split(self, name: str) -> str:
        """Of the folded rest of a split's section."""
        return f"{self.run}: more on {name}" if self.run else f"More on {name}: curves, lengths, parts"

    @property
    def rest(self) -> str:
        """Of the folded rest of the run's section."""
        return f"{self.run}: training, settings, limits" if self.run else "Training, settings, limits, how to use"


def sections_of(page: PageRuns, weights: WeightsByRow) -> Iterator[Section]:
    """All runs together, groups of seeds, then each run with its splits; the folded rest of all runs is last."""
    runs, groups, compared = page.runs, page.groups, page.comparison is not None
    title = "A and B compared" if compared else "All runs"
    together = Section(id="all", title=title, blocks=list(blocks_of(all_runs, page)) if len(runs) > 1 else [])
    if len(runs) > 1:
        yield together.opened
    titles = letter_titles(groups) if compared else [f"{_name(group)}: seeds" for group in groups]
    several_seeds = [(title, group) for title, group in zip(titles, groups, strict=True) if len(group) > 1]
    for number, (title, group) in enumerate(several_seeds, start=1):
        yield Section(id=f"seeds-{number}", title=title, blocks=list(blocks_of(several, group)))
    splits = sum(len(one.predictions) for one in runs)
    for number, one in enumerate(_without_repeated_notes(runs), start=1):
        titled = Titles(run=one.name if len(runs) > 1 else "")
        first = run_section(one, f"run-{number}", titled)
        others = list(split_sections(one, first.id, ROW_BYTES // max(1, splits), weights, titled))
        if len(runs) > OPEN:
            yield from (replace(section, folded=True) for section in (first, *others))
        else:
            yield from _read_first(first, others, titled)
    yield from together.rest("The settings of all runs")


def _read_first(run_first: Section, splits: Sequence[Section], titled: "Titles") -> Iterator[Section]:
    """The sections of a run with the blocks that are read first, then the rest of its splits and of the run."""
    yield from (section.opened for section in (run_first, *splits))
    for section in splits:
        yield from section.rest(titled.rest_of_split(section.link))
    yield from replace(run_first, level=splits[0].level if splits else 2).rest(titled.rest)


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


def run_section(one: RunFiles, name: str, titled: Titles) -> Section:
    """The section of a run."""
    missing = f"Missing: {'; '.join(one.missing)}." if one.missing else ""
    return Section(id=name, title=titled.scores, blocks=list(blocks_of(run, one)), note=missing)


def split_sections(one: RunFiles, name: str, budget: int, weights: WeightsByRow, titled: Titles) -> Iterator[Section]:
    """A section per split with predictions. The temperature is fitted on the first."""
    temperature = None
    for of, lines in one.predictions.items():
        view = split_view_of(one.record, one.folder, of, lines)
        found = temperature
        if view is not None and temperature is None and (found := temperature_of(view)):
            temperature = replace(found, fitted_on=of)
        section = Section(id=f"{name}-{of}", title=titled.split(of), link=of, blocks=[], level=3 if titled.run else 2)
        yield split_section(section, one, view, found, budget, weights)


def split_section(
    section: Section,
    one: RunFiles,
    view: View | None,
    temperature: Temperature | None,
    budget: int,
    weights: WeightsByRow,
) -> Section:
    """The section of one split with its blocks."""
    of = section.link
    if view is None:
        return replace(section, note="The predictions have no labels, or are of a task type without a view.")
    mine = {
        row: some for (run_id, split_name, row), some in weights.items() if (run_id, split_name) == (one.record.id, of)
    }
    given = SplitView(
        view=view, run=one, name=of, section=section.id, temperature=temperature, budget=budget, weights=mine
    )
    return replace(section, blocks=list(blocks_of(split, given)))
