"""Scores of labels in a tree by level."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.split_view import SplitView
from finetune.metrics.scores import accuracy, macro_f1
from finetune.metrics.tree import at_level, path_of, tree_metrics

ORDER = 124


def blocks(split: SplitView) -> Iterator[Block]:
    """A line per level, where labels have several."""
    delimiter = split.view.levels
    if not delimiter:
        return
    labels, answers = ([line[name] for line in split.view.lines] for name in ("gold", "prediction"))
    whole = tree_metrics(labels, delimiter)[0]
    assert whole.score is not None
    depth = max(len(path_of(label, delimiter)) for label in labels)
    yield Block(
        title="By level",
        note=(
            f"Labels cut off below each level, with '{delimiter}' between levels. Hierarchical F1 "
            f"{100 * whole.score(labels, answers):.1f}: a label counts with all that is above it."
        ),
        table=TableBlock(
            columns=["level", "classes", "accuracy", "macro f1", "wrong here, right above"],
            rows=[_line(labels, answers, level, delimiter) for level in range(1, depth + 1)],
        ),
    )


def _line(labels: list[str], answers: list[str], level: int, delimiter: str) -> list[str]:
    there, given = (at_level(values, level, delimiter) for values in (labels, answers))
    above = [at_level(values, level - 1, delimiter) for values in (labels, answers)]
    first = sum(a != b and c == d for a, b, c, d in zip(there, given, *above, strict=True))
    assert accuracy.score is not None and macro_f1.score is not None
    scores = [f"{100 * metric.score(there, given):.1f}" for metric in (accuracy, macro_f1) if metric.score is not None]
    return [str(level), f"{len(set(there)):,}", *scores, f"{first:,}"]
