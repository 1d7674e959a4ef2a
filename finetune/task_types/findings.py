"""Findings of a task type on the rows of a file before training, and the issues that types share."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.data.table import Table
from finetune.task_types.columns import Layout

MOST_OF_ROWS = 0.5  # share of a file's rows
UNEVEN = 0.9  # share of the most frequent label
ONE_LABEL = Issue(
    "one-label",
    "warning",
    "all rows have the same label, number or tag",
    "There is nothing to learn; name another column: label=COLUMN",
    worst="error",
)
MAJORITY = Issue(
    "majority", "note", "the scores of the majority-class baseline", "Compare the model's scores with these"
)
IMBALANCE = Issue(
    "imbalance",
    "warning",
    "one label has nearly all rows, or one type nearly all entities",
    "Compare the F1 of each label; add rows with the rare ones",
)
SHARED = (ONE_LABEL, MAJORITY, IMBALANCE)


@dataclass(frozen=True, kw_only=True)
class SplitRows:
    """The file of one split as it was read: for each row the text that goes into the model, and the label or None.

    A row that cannot be used has an empty text. `label_counts` are the rows of each label.
    """

    split: str
    layout: Layout
    table: Table
    texts: Sequence[str]
    golds: Sequence[Any]
    label_counts: Counter[str]

    @property
    def size(self) -> int:
        """Rows of the file, including those that cannot be read."""
        return len(self.texts) + len(self.table.faults)

    @property
    def trains(self) -> bool:
        """Whether it is the training split."""
        return self.split == "train"


def majority_finding(what: str, *, uneven: bool, remedy: str = "") -> Finding:
    """The majority-class baseline; a warning where its score is very high."""
    return Finding(IMBALANCE, what, remedy=remedy) if uneven else Finding(MAJORITY, what)


def constant_findings(
    counts: Counter[Any],
    only: str,
    most: str,
    *,
    worst: bool,
    name: Callable[[Any], str] = shown,
    remedies: tuple[str, str] = ("", ""),
) -> Iterator[Finding]:
    """What it is worth to answer the most frequent of these labels, of which only one may be there: an error in
    training data.

    `only` and `most` say so with `{label}`, which `name` words, and the scores `{accuracy}` and `{macro}`; the remedies
    are those of a single label, and of one that nearly all rows have.
    """
    for most_frequent, count in counts.most_common(1):
        label, share = name(most_frequent), count / counts.total()
        if len(counts) == 1:
            all_rows = f"all {count:,} labelled rows have" if count > 1 else "the only labelled row has"
            remedy = remedies[0] or "Training and scores need two or more; name another column: label=COLUMN"
            yield Finding(ONE_LABEL, f"{all_rows} {only.format(label=label)}", remedy=remedy, worst=worst)
        else:
            scores = {"accuracy": f"{100 * share:.1f}", "macro": f"{100 * 2 * share / (1 + share) / len(counts):.1f}"}
            what = most.format(label=label, **scores)
            yield majority_finding(what, uneven=share >= UNEVEN, remedy=remedies[1])


def of_single_labels(rows: SplitRows, *, scores: bool = False, worst: bool) -> Iterator[Finding]:
    """For single-label data: a single label only, or the majority-class baseline; with `scores` also its macro F1."""
    baseline = "accuracy {accuracy}" + " and macro F1 {macro}" * scores
    macro = "Use macro F1 rather than accuracy; class_weight=balanced gives rare labels more weight" * scores
    most = f"the most frequent label is {{label}} (majority-class baseline: {baseline})"
    yield from constant_findings(rows.label_counts, "the label {label}", most, worst=worst, remedies=("", macro))
