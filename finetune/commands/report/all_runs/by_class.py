"""F1 of each class of A and B, and its difference."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.page_runs import Group, PageRuns
from finetune.commands.report.run_files import view_of_run
from finetune.commands.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore

ORDER = 15
MOST_LINES = 200


def blocks(page: PageRuns) -> Iterator[Block]:
    """A table, where A and B are compared and have classes; of many, the most frequent."""
    if page.comparison is None:
        return
    a, b = (_classes(group, page.comparison.split) for group in page.groups)
    names = sorted((name for name in a if name in b), key=lambda name: -a[name][0].gold)
    if not names:
        return
    several = max(len(side[names[0]]) for side in (a, b)) > 1
    counted = shown_of(min(len(names), MOST_LINES), len(names), "classes, the most frequent")
    yield Block(
        title="Difference by class",
        note=f"F1 on {page.comparison.split}{', mean of the seeds' * several}. Differences of single classes are not "
        f"tested: few labels give large ones by chance. {counted}",
        hint="A click on a column's name sorts by it.",
        table=TableBlock(
            columns=["class", "support", "A", "B", "B - A"],
            rows=[_line(name, a[name], b[name]) for name in names[:MOST_LINES]],
            sorts=True,
        ),
    )


def _classes(group: Group, split: str) -> Mapping[str, Sequence[ClassScore]]:
    """The scores, a run each, of the classes that every run with predictions of the split knows."""
    views = [view for run in group if (view := view_of_run(run, split)) is not None]
    found = [{one.name: one for one in view.classes()} for view in views] or [{}]
    return {name: [one[name] for one in found] for name in found[0] if all(name in one for one in found)}


def _line(name: str, a: Sequence[ClassScore], b: Sequence[ClassScore]) -> list[str]:
    means = [100 * statistics.fmean(one.f1 for one in side) for side in (a, b)]
    return [cut(name, NAME), f"{a[0].gold:,}", *(f"{mean:.1f}" for mean in means), f"{means[1] - means[0]:+.1f}"]
