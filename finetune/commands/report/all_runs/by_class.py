"""F1 of each class of A and B, and its difference."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.class_scores import ClassOfSeeds, classes_of
from finetune.commands.report.page_runs import PageRuns
from finetune.commands.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut

ORDER = 15
MOST_LINES = 200


def blocks(page: PageRuns) -> Iterator[Block]:
    """A table, where A and B are compared and have classes; of many, the most frequent."""
    if page.comparison is None:
        return
    a, b = (classes_of(group, page.comparison.split) for group in page.groups)
    others = {one.name: one for one in b}
    pairs = [(one, others[one.name]) for one in a if one.name in others]
    if not pairs:
        return
    several = max(len(one.scores) for one in pairs[0]) > 1
    counted = shown_of(min(len(pairs), MOST_LINES), len(pairs), "classes, the most frequent")
    yield Block(
        title="Difference by class",
        note=f"F1 on {page.comparison.split}{', mean of the seeds' * several}. Differences of single classes are not "
        f"tested: few labels give large ones by chance. {counted}",
        hint="A click on a column's name sorts by it.",
        table=TableBlock(
            columns=["class", "support", "A", "B", "B − A"],
            rows=[_line(*pair) for pair in pairs[:MOST_LINES]],
            sorts=True,
        ),
    )


def _line(a: ClassOfSeeds, b: ClassOfSeeds) -> list[str]:
    scores = [100 * one.mean("f1") for one in (a, b)]
    return [cut(a.name, NAME), f"{a.support:,}", *(f"{one:.1f}" for one in scores), f"{scores[1] - scores[0]:+.1f}"]
