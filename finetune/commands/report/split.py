"""Blocks about the predictions of a split: rows to search and filter, confusion, classes, calibration."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from finetune.analysis.label_errors import LEAST_BELIEVED, beliefs, ranks
from finetune.analysis.pages.svg import Axis, Mark, chart
from finetune.commands.report.content import NAME, Block
from finetune.data.messages import noun, so_many
from finetune.metrics.confidence import expected_error, reliability
from finetune.metrics.scores import precision_recall_f1
from finetune.task_types.marked_text import cut, marked_texts
from finetune.task_types.predictions import Predictions

FIRST_ROWS = 10  # rows that are shown before the script runs
MOST_NAMES = 2_000  # labels that rows can be filtered by
MOST_LINES = 200  # classes of a table
MOST_CLASSES = 25  # classes of a confusion
OTHERS = "(others)"
LAST = (OTHERS, "no answer")  # names that are not classes
WIDE_FROM = 5  # classes of a confusion that needs the whole page


def split_blocks(table: Predictions, section: str, budget: int) -> Iterator[Block]:
    """All blocks of a section with this id; its rows may take `budget` bytes of the page."""
    yield rows_block(table, section, budget)
    yield from confusion_block(table, section)
    yield from class_block(table)
    yield from calibration_block(table)


def rows_block(table: Predictions, section: str, budget: int) -> Block:
    """The rows that fit: errors first, then the labels that are believed least, the most confident on top."""
    count, wrong, lengths, judged = len(table), table.wrong, table.lengths, table.right is not None
    believed, has_confidence = beliefs(table), len(table.decided) > 0
    certainty = np.where(wrong, table.certainty, table.confidence) if has_confidence else table.certainty
    doubt = np.full(count, LEAST_BELIEVED) if believed is None else ranks(believed.belief)
    least, errors = doubt < LEAST_BELIEVED, int(wrong.sum())
    pairs = [sorted(set(pairs), key=str) for pairs in table.pairs]

    def row(at: int) -> list[Any]:
        sure, facts = float(certainty[at]), table.off_by(at)
        if has_confidence and 0 < sure <= 1:
            facts.append(f"confidence {100 * sure:.1f} %")
        if believed is not None and (least[at] or wrong[at]) and np.isfinite(believed.chances[at]):
            facts.append(f"probability of the label {100 * believed.chances[at]:.1f} %")
        return [
            at, cut(str(table.lines[at]["id"]), NAME), *map(cut, table.words(at)),
            -1 if table.right is None else int(table.right[at]), round(sure, 4) if np.isfinite(sure) else None,
            lengths[at], facts, marked_texts(table.texts[at], table.marks(at)), pairs[at],
            int(doubt[at]),
        ]  # fmt: skip

    rows, size = list[list[Any]](), 0
    for at in np.lexsort((np.arange(count), -np.nan_to_num(certainty, nan=-np.inf), wrong | ~least, ~wrong)).tolist():
        rows.append(row(at))
        size += len(json.dumps(rows[-1], ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")) + 1
        if size > budget and len(rows) > FIRST_ROWS:
            break
    names = [sorted({pair[side] for of_row in pairs for pair in of_row}, key=str) for side in (0, 1)]
    note = (
        f"{errors:,} of {so_many(count)} {noun(errors, 'has', 'have')} an error. " if judged else f"{so_many(count)}. "
    )
    note += "“labels believed least” are those to look at first for label errors. " * bool(least.any())
    note += f"The page has room for {len(rows):,} rows, the errors first. " * (len(rows) < count)
    return Block(
        title="Rows", note=note, rows=rows[:FIRST_ROWS], wide=True,
        filters={
            "id": f"{section}-rows", "data": {"rows": rows, "total": count, "least": LEAST_BELIEVED},
            "sorted_by": table.sorted_by, "bounded": judged, "errors": errors, "least": int(least.sum()),
            "names": dict(zip(("label", "prediction"), names, strict=True)) if 0 < len(names[0]) <= MOST_NAMES else {},
        },
    )  # fmt: skip


def confusion_block(table: Predictions, section: str) -> Iterator[Block]:
    """A matrix, where there are two classes or more; of many the most frequent, the others merged.

    Rows and columns are in the order of the block by class, and a cell links to its rows.
    """
    pairs = [pair for row in table.pairs for pair in row]
    seen = Counter(name for pair in pairs for name in pair)
    if len(seen) < 2 or table.several:
        return
    frequent = {name for name, _ in seen.most_common(MOST_CLASSES - (len(seen) > MOST_CLASSES))}
    counts = Counter(tuple(name if name in frequent else OTHERS for name in pair) for pair in pairs)
    places = {name: place for place, name in enumerate(by_support(table))}
    down, across = (
        sorted(
            {pair[at] for pair in counts for at in ((0, 1) if table.closed else (side,))},
            key=lambda name: (name in (*LAST, *table.nothing), places.get(name, len(places)), name),
        )
        for side in (0, 1)
    )
    lines = [(label, [counts[label, prediction] for prediction in across]) for label in down]
    note = "Down: label, across: prediction. A cell has its count, which leads to its rows, and its share of the row."
    if len(seen) > len(frequent):
        note += f" The {len(frequent)} most frequent of {len(seen):,} classes."
    yield Block(
        title="Confusion", note=note, wide=len(across) >= WIDE_FROM,
        matrix={
            "rows": f"{section}-rows", "others": OTHERS,
            "down": [(label, cut(label, NAME), sum(line), line) for label, line in lines],
            "across": [(name, cut(name, NAME)) for name in across],
        },
    )  # fmt: skip


def by_support(table: Predictions) -> list[str]:
    """The classes, the most frequent first; ordered ones from the lowest to the highest."""
    places = {label: place for place, label in enumerate(table.order)}
    return sorted(table.classes, key=lambda name: (places.get(name, len(places)), -table.classes[name][0]))


def class_block(table: Predictions) -> Iterator[Block]:
    """A table; of many classes the most frequent. Its last lines are means over the classes that occur, as in
    scikit-learn's classification_report: of equal weights (macro), and by support.
    """
    classes = by_support(table)
    shown = classes[:MOST_LINES]
    if not classes:
        return
    counts = np.array([table.classes[name] for name in shown])
    scores = np.array([precision_recall_f1(right, answered, labelled) for labelled, answered, right in counts])[
        :, [2, 0, 1]
    ]
    lines = [*zip(shown, counts, scores, strict=True)]
    if len(shown) == len(classes) > 1:
        seen = counts.any(axis=1)
        for name, weights in (("macro average", np.ones(seen.sum())), ("weighted average", counts[seen, 0])):
            if weights.any():
                lines.append((name, counts.sum(axis=0), weights @ scores[seen] / weights.sum()))
    cells = [
        [cut(name, NAME), f"{labelled:,}", *(f"{100 * score:.1f}" for score in scored), f"{answered:,}"]
        for name, (labelled, answered, _), scored in lines
    ]
    note = "Support is the number of labels."
    note += f" The {len(shown)} most frequent of {len(classes):,}." * (len(shown) < len(classes))
    columns = ["class", "support", "f1", "precision", "recall", "predicted"]
    yield Block(title="By class", note=note, columns=columns, cells=cells)


def calibration_block(table: Predictions) -> Iterator[Block]:
    """Accuracy over confidence and the diagonal, if predictions have a confidence."""
    if not len(table.decided):
        return
    bins = reliability(table.decided.confidence, table.decided.right)
    corners = [point for bin in bins for point in ((100 * bin.low, 0.0), (100 * bin.high, 100 * bin.accuracy))]
    marks = [
        Mark(points=corners, bars=True, name="right"),
        Mark(points=[(0, 0), (100, 100)], colour="quiet", dash="6 3", name="calibrated"),
    ]
    words = (f"confidence to {100 * bin.high:.0f} %: {100 * bin.accuracy:.0f} % right of {bin.count}" for bin in bins)
    yield Block(
        title="Calibration",
        note=f"Expected calibration error (ECE) {100 * expected_error(bins):.1f} points over"
        f" {len(table.decided):,} {table.unit}. ",
        chart=chart(
            (marks, Axis(label="right, %", low=0.0, high=104.0), 220.0),
            x=Axis(label="confidence, %", low=0.0, high=100.0),
            says="; ".join(words),
        ),
    )
