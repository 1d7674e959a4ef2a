"""Precision, recall and F1 of each class over the seeds."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.class_scores import ClassOfSeeds, classes_of
from finetune.commands.report.page_runs import Group
from finetune.commands.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut

ORDER = 15
MOST_LINES = 200
PARTS = ("f1", "precision", "recall")


def blocks(group: Group) -> Iterator[Block]:
    """A table for each split with classes; of many, the most frequent."""
    for split in group[0].predictions:
        classes = classes_of(group, split)
        if not classes or len(classes[0].scores) < 2:
            continue
        counted = shown_of(min(len(classes), MOST_LINES), len(classes), "classes, the most frequent")
        yield Block(
            title=f"By class on {split}",
            note=f"Means and sample standard deviations (sd) over {len(classes[0].scores)} seeds. {counted}",
            hint="A click on a column's name sorts by it.",
            table=TableBlock(
                columns=["class", "support", *(name for part in PARTS for name in (part, f"{part} sd"))],
                rows=[_line(one) for one in classes[:MOST_LINES]],
                sorts=True,
            ),
        )


def _line(one: ClassOfSeeds) -> list[str]:
    scores = (f"{100 * value:.1f}" for part in PARTS for value in (one.mean(part), one.sd(part)))
    return [cut(one.name, NAME), f"{one.support:,}", *scores]
