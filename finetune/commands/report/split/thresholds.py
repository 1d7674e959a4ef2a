"""What some thresholds would give, where there are two classes or several labels."""

from collections.abc import Iterator

import numpy as np

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.curves import MOST_LINES, drawable
from finetune.commands.report.split_view import SplitView
from finetune.commands.report.text import NAME
from finetune.metrics.scores import precision_recall_f1
from finetune.task_types.marked_text import cut
from finetune.task_types.view import Curve

ORDER = 146
OPEN = 3  # labels that are not folded
OF_ONE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OF_SEVERAL = (0.1, 0.3, 0.5, 0.7, 0.9)


def blocks(split: SplitView) -> Iterator[Block]:
    """A line for each threshold, of the second of two classes or of each label."""
    curves = [curve for curve, _ in drawable(split.view.curves(), MOST_LINES)]
    if not curves:
        return
    several = len(curves) > 1
    thresholds = OF_SEVERAL if several else OF_ONE
    lines = [[[cut(one.name, NAME)] * several + _line(one, at) for at in thresholds] for one in curves]
    what = "a label" if several else f"“{cut(curves[0].name, NAME)}”"
    yield Block(
        title="Thresholds",
        note=f"What it would give to predict {what} from a probability of the threshold or more.",
        table=TableBlock(
            columns=["label"] * several + ["threshold", "predicted", "precision", "recall", "f1"],
            rows=[line for some in lines[:OPEN] for line in some],
            folded=[line for some in lines[OPEN:] for line in some],
        ),
    )


def _line(curve: Curve, threshold: float) -> list[str]:
    given, positive = np.asarray(curve.chances) >= threshold, np.asarray(curve.positive, bool)
    scores = precision_recall_f1(int((given & positive).sum()), int(given.sum()), int(positive.sum()))
    return [f"{threshold:.1f}", f"{given.sum():,}", *(f"{100 * score:.1f}" for score in scores)]
