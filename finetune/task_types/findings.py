"""Findings of a task type on the rows of a file before training, and the issues that types share."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.data.table import Table
from finetune.task_types.columns import Layout

MOST_OF_ROWS = 0.5  # share of a file's rows
UNEVEN = 0.9  # share of the most frequent label
LABELS_SHOWN = 5
ONE_LABEL = Issue(
    code="one-label",
    severity="warning",
    worst="error",
    meaning="all rows have the same label, number or tag",
    remedy="There is nothing to learn; name another column: label=COLUMN",
)
MAJORITY = Issue(
    code="majority",
    severity="note",
    meaning="the scores of the majority-class baseline",
    remedy="Compare the model's scores with these",
)
IMBALANCE = Issue(
    code="imbalance",
    severity="warning",
    meaning="one label has nearly all rows, or one type nearly all entities",
    remedy="Compare the F1 of each label; add rows with the rare ones",
)
SHARED = (ONE_LABEL, MAJORITY, IMBALANCE)


class SplitRows(Protocol):
    """The file of one split as it was read: each row's inputs, and its label or None."""

    @property
    def layout(self) -> Layout:
        """The layout of the columns."""

    @property
    def table(self) -> Table:
        """The table of columns."""

    @property
    def texts(self) -> Sequence[str]:
        """The inputs of each row; empty where it cannot be used."""

    @property
    def golds(self) -> Sequence[Any]:
        """The label of each row, or None."""

    @property
    def label_counts(self) -> Counter[str]:
        """The number of rows with each label."""

    @property
    def size(self) -> int:
        """The number of rows, including those that cannot be read."""

    @property
    def trains(self) -> bool:
        """Whether the split is for training."""


def one_label_finding(rows: int, label: str, *, worst: bool) -> Finding:
    """All labelled rows have one label: an error in training data."""
    every = f"all {rows:,} labelled rows have" if rows > 1 else "the only labelled row has"
    remedy = "Training and scores need two or more; name another column: label=COLUMN"
    return Finding(issue=ONE_LABEL, what=f"{every} {label}", remedy=remedy, worst=worst)


def majority_finding(what: str, *, uneven: bool, remedy: str = "") -> Finding:
    """The majority-class baseline; a warning where its score is very high."""
    return Finding(issue=IMBALANCE, what=what, remedy=remedy) if uneven else Finding(issue=MAJORITY, what=what)


def of_single_labels(rows: SplitRows, *, scores: bool = False, worst: bool) -> Iterator[Finding]:
    """For single-label data: a single label only, or the majority-class baseline; with `scores` also its macro F1."""
    counts = rows.label_counts
    if not counts:
        return
    (most, count), share = counts.most_common(1)[0], counts.most_common(1)[0][1] / counts.total()
    if len(counts) == 1:
        yield one_label_finding(count, f"the label {shown(most)}", worst=worst)
        return
    known = f"accuracy {100 * share:.1f}"
    known += f" and macro F1 {100 * 2 * share / (1 + share) / len(counts):.1f}" if scores else ""
    macro = "Use macro F1 rather than accuracy; class_weight=balanced gives rare labels more weight"
    what = f"the most frequent label is {shown(most)} (majority-class baseline: {known})"
    yield majority_finding(what, uneven=share >= UNEVEN, remedy=macro if scores else "")
