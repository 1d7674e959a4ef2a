"""The sections of a page: all runs together, groups of seeds, then each run with its splits; what is read first is
open, and the rest follows, folded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from finetune.analysis.temperature import Temperature, temperature_of
from finetune.commands.report.all_runs import learning_curve, overview_block, settings_compared_blocks
from finetune.commands.report.blocks import Block, Section, WordWeight
from finetune.commands.report.calibration import calibration_block, coverage_block
from finetune.commands.report.classes import class_block, confusion_block, scatter_block
from finetune.commands.report.comparison import changed_rows_block, comparison_blocks, letter_titles
from finetune.commands.report.facts import facts_block, limits_block, settings_block, use_block
from finetune.commands.report.parts import parts_block
from finetune.commands.report.rows import rows_block
from finetune.commands.report.run_files import PageRuns, RunFiles, SplitView
from finetune.commands.report.scores import compared_block, old_and_new_block, score_blocks, spread_block
from finetune.commands.report.training import loss_block, score_by_epoch
from finetune.runs.data_sizes import exact_percent, share_of
from finetune.task_types.run_view import split_view_of
from finetune.task_types.view import View

OPEN = 2  # runs whose sections are not folded
ROW_BYTES = 3_000_000  # of the rows of all splits

Blocks = Callable[[Any], Iterator[Block]]  # of what a section is about; the second list of a section is folded
ALL_RUNS: tuple[list[Blocks], list[Blocks]] = (
    [
        comparison_blocks,
        settings_compared_blocks,
        changed_rows_block,
        lambda page: map(learning_curve, page.curves),
        overview_block,
    ],
    [lambda page: settings_block(*page.runs)],
)
RUN: tuple[list[Blocks], list[Blocks]] = (
    [score_blocks, old_and_new_block, compared_block],
    [loss_block, score_by_epoch, settings_block, facts_block, limits_block, use_block],
)
SPLIT: tuple[list[Blocks], list[Blocks]] = (
    [rows_block, confusion_block, scatter_block, class_block, calibration_block],
    [coverage_block, parts_block],
)
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
        return f"{self.run}: more on {name}" if self.run else f"More on {name}: coverage, parts"

    @property
    def rest(self) -> str:
        """Of the folded rest of the run's section."""
        return f"{self.run}: training, settings, limits" if self.run else "Training, settings, limits, how to use"


def sections_of(page: PageRuns, weights: WeightsByRow) -> Iterator[Section]:
    """All runs together, groups of seeds, then each run with its splits; the folded rest of all runs is last."""
    runs, groups, compared = page.runs, page.groups, page.comparison is not None
    title = "A and B compared" if compared else "All runs"
    together = Section(id="all", title=title, blocks=list(_blocks(ALL_RUNS, page)) if len(runs) > 1 else [])
    if len(runs) > 1:
        yield together.opened
    titles = letter_titles(groups) if compared else [f"{_name(group)}: seeds" for group in groups]
    several_seeds = [(title, group) for title, group in zip(titles, groups, strict=True) if len(group) > 1]
    for number, (title, group) in enumerate(several_seeds, start=1):
        yield Section(id=f"seeds-{number}", title=title, blocks=[*spread_block(group), *score_by_epoch(*group)])
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


def _blocks(lists: tuple[Sequence[Blocks], Sequence[Blocks]], given: Any) -> Iterator[Block]:
    """The blocks of both lists, those of the second folded."""
    for folded, every in enumerate(lists):
        for blocks in every:
            yield from (replace(block, folded=bool(folded)) for block in blocks(given))


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
    return Section(id=name, title=titled.scores, blocks=list(_blocks(RUN, one)), note=missing)


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
    return replace(section, blocks=list(_blocks(SPLIT, given)))
