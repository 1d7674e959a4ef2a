"""The sections of a page: all runs together, groups of seeds, then each run with its splits; what is read first is
open, and the rest follows, folded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from finetune.analysis.temperature import Temperature, temperature_of
from finetune.commands.report.all_runs import learning_curve, overview_block, settings_compared_blocks
from finetune.commands.report.blocks import Block, Section, WordWeight
from finetune.commands.report.calibration import calibration_block, coverage_block
from finetune.commands.report.classes import class_block, confusion_block, scatter_block
from finetune.commands.report.comparison import changed_rows_block, comparison_blocks, letter_titles
from finetune.commands.report.facts import facts_block, limits_block, settings_block, use_block
from finetune.commands.report.rows import parts_block, rows_block
from finetune.commands.report.run_files import PageRuns, RunFiles, SplitView, view_of_run
from finetune.commands.report.scores import compared_block, old_and_new_block, score_blocks, spread_block
from finetune.commands.report.training import loss_block, score_by_epoch
from finetune.runs.data_sizes import exact_percent, share_of

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


def sections_of(page: PageRuns, weights: WeightsByRow) -> Iterator[Section]:
    """All runs together, groups of seeds, then each run with its splits; the folded rest of all runs is last."""
    runs, groups, compared = page.runs, page.groups, page.comparison is not None
    several = len(runs) > 1
    title = "A and B compared" if compared else "All runs"
    together = Section(id="all", title=title, blocks=_blocks(ALL_RUNS, page) if several else [])
    if several:
        yield together.opened
    titles = letter_titles(groups) if compared else [f"{_name(group[0])}: seeds" for group in groups]
    seeds = [(title, group) for title, group in zip(titles, groups, strict=True) if len(group) > 1]
    for number, (title, group) in enumerate(seeds, start=1):
        yield Section(id=f"seeds-{number}", title=title, blocks=[*spread_block(group), *score_by_epoch(*group)])
    budget = ROW_BYTES // max(1, sum(len(one.predictions) for one in runs))
    seen = set[str]()  # notes, of which seeds have nearly all in common
    for number, one in enumerate(runs, start=1):
        notes = [note for note in one.record.notes if note not in seen]
        seen.update(notes)
        one = replace(one, record=one.record.model_copy(update={"notes": notes}))
        found = list(_of_run(one, f"run-{number}", one.name if several else "", budget, weights))
        if len(runs) > OPEN:
            yield from (replace(section, folded=True) for section in found)
        else:
            yield from (section.opened for section in found)
            for section in (*found[1:], replace(found[0], level=found[-1].level)):
                yield from section.rest(section.more)
    yield from together.rest("The settings of all runs")


def _blocks(lists: tuple[Sequence[Blocks], Sequence[Blocks]], given: Any) -> list[Block]:
    """The blocks of both lists, those of the second folded."""
    return [
        replace(block, folded=bool(folded))
        for folded, every in enumerate(lists)
        for blocks in every
        for block in blocks(given)
    ]


def _name(one: RunFiles) -> str:
    """The task, and the share of the training rows where that is not all of them."""
    share = share_of(one.record)
    return one.record.task if share == 1 else f"{one.record.task}, {exact_percent(share)} of the rows"


def _of_run(one: RunFiles, name: str, title: str, budget: int, weights: WeightsByRow) -> Iterator[Section]:
    """The section of a run, then one per split with predictions. The temperature is fitted on the first."""
    missing = f"Missing: {'; '.join(one.missing)}." if one.missing else ""
    rest = f"{title}: training, settings, limits" if title else "Training, settings, limits, how to use"
    yield Section(id=name, title=title or "Scores", blocks=_blocks(RUN, one), note=missing, more=rest)
    temperature: Temperature | None = None
    for split in one.predictions:
        section = Section(
            id=f"{name}-{split}",
            title=f"{title}: {split}" if title else f"Predictions on {split}",
            more=f"{title}: more on {split}" if title else f"More on {split}: coverage, parts",
            link=split,
            blocks=[],
            level=3 if title else 2,
        )
        view = view_of_run(one, split)
        if view is None:
            yield replace(section, note="The predictions have no labels, or are of a task type without a view.")
            continue
        used = temperature or temperature_of(view)
        if temperature is None and used is not None:
            temperature = replace(used, fitted_on=split)
        mine = {row: some for (run, of, row), some in weights.items() if (run, of) == (one.record.id, split)}
        given = SplitView(view=view, section=section.id, temperature=used, budget=budget, weights=mine)
        yield replace(section, blocks=_blocks(SPLIT, given))
