"""Blocks about the predictions of a split: rows to search and filter, confusion, classes, numbers, calibration."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from finetune.analysis.label_errors import LEAST_BELIEVED, beliefs, calibrated, ranks, suspects, suspicion_rule
from finetune.analysis.pages.svg import Axis, Mark, bars, chart, dots, intervals, line, stacked
from finetune.commands.report.content import NAME, Block, SplitPage
from finetune.data.messages import noun, so_many
from finetune.metrics.calibration import brier, cut_off_cells, expected_error, log_loss, reliability
from finetune.metrics.scores import precision_recall_f1
from finetune.runs.verdict import baseline_words
from finetune.task_types.marked_text import cut, marked_texts
from finetune.task_types.predictions import SLICE, Predictions

FIRST_ROWS = 10  # rows that are shown before the script runs
MOST_NAMES = 2_000  # labels that rows can be filtered by
MOST_LINES = 200  # classes of a table
MOST_CLASSES = 25  # classes of a confusion
OTHERS = "(others)"
LAST = (OTHERS, "no answer")  # names that are not classes
WIDE_FROM = 5  # classes of a confusion that needs the whole page
DOTS = 600  # rows of a scatter plot


def rows_block(split: SplitPage) -> Iterator[Block]:
    """The rows that fit: errors first, then the labels that are believed least, the most confident on top."""
    table, count, temperature = split.table, len(split.table), split.temperature and split.temperature[0]
    wrong, believed, has_confidence = table.wrong, beliefs(table), len(table.decided) > 0
    certainty = np.where(wrong, table.certainty, table.confidence) if has_confidence else table.certainty
    doubt = np.full(count, LEAST_BELIEVED) if believed is None else ranks(believed.belief)
    suspected, least, lengths = suspects(table, temperature), doubt < LEAST_BELIEVED, table.lengths
    columns = [key for key in table.lines[0] if key.startswith(SLICE)]
    slices = [[str(line.get(key) or "") for line in table.lines] for key in columns]
    pairs = [sorted(set(pairs), key=str) for pairs in table.pairs]

    def row(at: int) -> list[Any]:
        sure, facts = float(certainty[at]), table.all_facts(at)
        if has_confidence and 0 < sure <= 1:
            facts.append(f"confidence {100 * sure:.1f} %")
        if wrong[at] and (methods := table.agreeing(at)):
            facts.append(f"also predicted by {' and '.join(cut(baseline_words(name)) for name in methods)}")
        if believed is not None and (least[at] or wrong[at]) and np.isfinite(believed.chances[at]):
            facts.append(f"probability of the label {100 * believed.chances[at]:.1f} %")
        facts += ["possible label error"] * bool(suspected[at])
        return [
            at, cut(str(table.lines[at]["id"]), NAME), *map(cut, table.words(at)),
            -1 if table.right is None else int(table.right[at]), round(sure, 4) if np.isfinite(sure) else None,
            lengths[at], facts, marked_texts(table.texts[at], table.marks(at)), pairs[at],
            [values[at] for values in slices], int(suspected[at]), int(doubt[at]),
        ]  # fmt: skip

    rows, size = list[list[Any]](), 0
    for at in np.lexsort((np.arange(count), -np.nan_to_num(certainty, nan=-np.inf), wrong | ~least, ~wrong)).tolist():
        rows.append(row(at))
        size += len(json.dumps(rows[-1], ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")) + 1
        if size > split.budget and len(rows) > FIRST_ROWS:
            break
    names = [sorted({pair[side] for some in pairs for pair in some}, key=str) for side in (0, 1)]
    errors = int(wrong.sum())
    note = f"{so_many(count)}. "
    if table.right is not None:
        note = f"{errors:,} of {so_many(count)} {noun(errors, 'has', 'have')} an error. "
    if table.annotated and (rule := suspicion_rule(table, temperature)):
        note += f"A label may be wrong where {rule}. "
    if least.any():
        note += "“labels believed least” are those to look at first for label errors. "
    if len(rows) < count:
        note += f"The page has room for {len(rows):,} rows, the errors first. "
    yield Block(
        title="Rows",
        note=note,
        rows=rows[:FIRST_ROWS],
        filters={
            "id": f"{split.section}-rows",
            "data": {"rows": rows, "total": count, "least": LEAST_BELIEVED},
            "sorted_by": table.sorted_by,
            "bounded": table.right is not None,
            "errors": errors,
            "suspects": int(suspected.sum()),
            "least": int(least.sum()),
            "names": dict(zip(("label", "prediction"), names, strict=True)) if 0 < len(names[0]) <= MOST_NAMES else {},
            "slices": [
                (cut(key.removeprefix(SLICE)), sorted(set(values))) for key, values in zip(columns, slices, strict=True)
            ],
        },
        wide=True,
    )


def confusion_block(split: SplitPage) -> Iterator[Block]:
    """A matrix, where there are two classes or more; of many the most frequent, the others merged.

    Rows and columns are in the order of the block by class, and a cell links to its rows.
    """
    pairs, table = [pair for row in split.table.pairs for pair in row], split.table
    seen = Counter(name for pair in pairs for name in pair)
    if len(seen) < 2 or table.several:
        return
    frequent = {name for name, _ in seen.most_common(MOST_CLASSES - (len(seen) > MOST_CLASSES))}
    counts = Counter(tuple(name if name in frequent else OTHERS for name in pair) for pair in pairs)
    places = {name: place for place, name in enumerate(by_support(table))}

    def ordered(side: int) -> list[str]:
        names = {pair[at] for pair in counts for at in ((0, 1) if table.closed else (side,))}
        return sorted(names, key=lambda name: (name in (*LAST, *table.nothing), places.get(name, len(places)), name))

    across = ordered(1)
    down = [
        (label, cut(label, NAME), sum(line), line)
        for label in ordered(0)
        for line in [[counts[label, prediction] for prediction in across]]
    ]
    note = "Down: label, across: prediction. A cell has its count and its share of the label's row."
    if len(seen) > len(frequent):
        note += f" The {len(frequent)} most frequent of {len(seen):,} classes."
    yield Block(
        title="Confusion",
        note=note,
        hint="A click on a count shows its rows.",
        matrix={
            "rows": f"{split.section}-rows",
            "down": down,
            "across": [(name, cut(name, NAME)) for name in across],
            "others": OTHERS,
        },
        wide=len(across) >= WIDE_FROM,
    )


def by_support(table: Predictions) -> list[str]:
    """The classes, the most frequent first; ordered ones from the lowest to the highest."""
    places = {label: place for place, label in enumerate(table.order)}
    return sorted(table.classes, key=lambda name: (places.get(name, len(places)), -table.classes[name][0]))


def class_block(split: SplitPage) -> Iterator[Block]:
    """A table; of many classes the most frequent. Its foot has means over the classes that occur, as in scikit-learn's
    classification_report: of equal weights (macro), and by support.
    """
    classes, lines = by_support(split.table), list[tuple[str, int, tuple[float, ...], int]]()
    if not classes:
        return
    for name in classes[:MOST_LINES]:
        there, answered, right = split.table.classes[name]
        precision, recall, f1 = precision_recall_f1(right, answered, there)
        lines.append((name, there, (f1, precision, recall), answered))
    seen = [line for line in lines if line[1] or line[3]]
    support, scores = np.array([line[1] for line in seen]), np.array([line[2] for line in seen])
    if len(lines) == len(classes) > 1:
        for name, weights in (("macro average", np.ones(len(seen))), ("weighted average", support)):
            if weights.any():
                mean = tuple((weights @ scores / weights.sum()).tolist())
                lines.append((name, int(support.sum()), mean, sum(line[3] for line in seen)))
    cells = [
        [cut(name, NAME), f"{support:,}", *(f"{100 * score:.1f}" for score in scores), f"{answered:,}"]
        for name, support, scores, answered in lines
    ]
    most = min(len(classes), MOST_LINES)
    yield Block(
        title="By class",
        note="Support is the number of labels; the bar is F1."
        + f" The {most} most frequent of {len(classes):,}." * (most < len(classes)),
        hint="A click on a column's name sorts by it.",
        columns=["class", "support", "f1", "precision", "recall", "predicted"],
        cells=cells[:most],
        foot=cells[most:],
        bars=[scores[0] for _, _, scores, _ in lines[:most]],
        sorts=True,
    )


def scatter_block(split: SplitPage) -> Iterator[Block]:
    """A plot of at most DOTS rows with the diagonal, if labels are numbers."""
    numbers = split.table.numbers
    if numbers is None:
        return
    drawn = np.random.default_rng(0).permutation(len(numbers[0]))[:DOTS]
    points = [(float(label), float(prediction)) for label, prediction in np.stack(numbers)[:, drawn].T]
    low, high = float(np.min(numbers)), float(np.max(numbers))
    marks = [
        line([(low, low), (high, high)], colour="quiet", dash="6 3", name="prediction = label"),
        dots(points, radius=2.4, faint=True),
    ]
    says = f"Predictions over labels of {so_many(len(drawn))}"
    yield Block(
        title="Predicted vs. true", chart=chart(marks, x=Axis(label="label"), y=Axis(label="prediction"), says=says)
    )


def calibration_block(split: SplitPage) -> Iterator[Block]:
    """Accuracy over confidence with its intervals and the diagonal, also with a temperature, and below it the number of
    decisions per bin; if predictions have a confidence.
    """
    table, decided = split.table, (split.table.decided.confidence, split.table.decided.right)
    if not len(table.decided):
        return
    bins = reliability(*decided)
    marks: list[Mark] = [bars([(100 * one.low, 0.0, 100 * one.high, 100 * one.accuracy) for one in bins], name="right")]
    ends = [[(50 * (one.low + one.high), 100 * end) for end in one.interval] for one in bins if one.interval]
    marks.append(intervals([(low, high) for low, high in ends], colour="ink", name="95 % interval"))
    marks.append(line([(0, 0), (100, 100)], colour="quiet", dash="6 3", name="calibrated"))
    error = 100 * expected_error(bins)
    note = f"Expected calibration error (ECE) {error:.1f} points over {len(table.decided):,} {table.unit}. "
    if split.temperature is not None and (scaled := calibrated(table, split.temperature[0])) is not None:
        note += (
            f"At the temperature {split.temperature[0]:.2f}, which has the least log loss on {split.temperature[1]}, "
        )
        note += f"{100 * expected_error(reliability(scaled, decided[1])):.1f}. "
    drawn = stacked(
        marks,
        [bars([(100 * one.low, 0.0, 100 * one.high, float(one.count)) for one in bins], colour="quiet")],
        x=Axis(label="confidence, %", low=0.0, high=100.0),
        ys=[Axis(label="right, %", low=0.0, high=104.0), Axis(label="count", low=0.0, whole=True)],
        says="; ".join(
            f"confidence to {100 * one.high:.0f} %: {100 * one.accuracy:.0f} % right of {one.count}" for one in bins
        ),
    )
    yield Block(
        title="Calibration",
        note=note + _losses(table, *decided),
        chart=drawn,
        columns=["confidence", table.unit, "share, %", "right, %"],
        cells=cut_off_cells(*decided),
    )


def _losses(table: Predictions, confidence: np.ndarray, right: np.ndarray) -> str:
    """Log loss and Brier score of the probabilities, or of whether a prediction is right where no others are known."""
    probabilities, of = table.distribution, f" of whether {table.unit} are right"
    chances, places = np.column_stack([1 - confidence, confidence]), np.asarray(right, int)
    if probabilities is not None:
        most, of = max(map(len, probabilities[0])), ""  # rows of multiple choice may have fewer
        chances = np.array([[*row, *[0.0] * (most - len(row))] for row in probabilities[0]])
        places = np.array(probabilities[1])
    return f"Log loss {log_loss(chances, places):.3f} and Brier score {brier(chances, places):.3f}{of}."
