"""How many steps predictions of ordered labels are off."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.split_view import SplitView
from finetune.metrics.ordinal import steps_between
from finetune.task_types.view import View

ORDER = 122


def blocks(split: SplitView) -> Iterator[Block]:
    """The rows by the distance of their prediction, too low and too high, and the mean of each label."""
    view = split.view
    if not view.order or not _are_ordered(view):
        return
    labels, answers = ([line[name] for line in view.lines] for name in ("gold", "prediction"))
    steps = steps_between(labels, answers, view.order)
    yield Block(
        title="Distance",
        note=f"Steps from the label to the prediction, of {' < '.join(view.order)}.",
        table=TableBlock(columns=["steps", "rows", "share", "up to it", "too low", "too high"], rows=_by_steps(steps)),
    )
    yield Block(
        title="Distance by label",
        note="Above zero: predicted too high on average.",
        table=TableBlock(
            columns=["label", "rows", "mean steps off", "mean direction"], rows=_by_label(labels, steps, view.order)
        ),
    )


def _are_ordered(view: View) -> bool:
    return all({line["gold"], line["prediction"]} <= {*view.order} for line in view.lines)


def _by_steps(steps: np.ndarray) -> list[list[str]]:
    counts = Counter(np.abs(steps).astype(int).tolist())
    lines, so_far = [], 0
    for distance in range(max(counts) + 1):
        so_far += counts[distance]
        sides = [int((steps == sign * distance).sum()) for sign in (-1, 1)] if distance else []
        shares = [f"{100 * count / len(steps):.1f} %" for count in (counts[distance], so_far)]
        lines.append([str(distance), f"{counts[distance]:,}", *shares, *(map(str, sides) if sides else ("", ""))])
    return lines


def _by_label(labels: Sequence[str], steps: np.ndarray, order: Sequence[str]) -> list[list[str]]:
    every = np.array(labels, object)
    found = [(name, steps[every == name]) for name in order if name in labels]
    return [[name, f"{len(some):,}", f"{np.abs(some).mean():.2f}", f"{some.mean():+.2f}"] for name, some in found]
