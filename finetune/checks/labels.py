"""Checks of labels: missing ones, their spellings and rows, and columns that give them away."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np

from finetune.checks.cells import BLANK, MOST_NAMED, first_quoted
from finetune.checks.split_data import SplitFile, labelled
from finetune.data.characters import misspelled, unified
from finetune.data.issues import Finding, Issue
from finetune.data.messages import first_of, shown
from finetune.data.table import holds
from finetune.data.values import as_text, is_missing
from finetune.task_types.column_names import is_other_annotator, names_annotator, stem_of
from finetune.task_types.findings import MOST_OF_ROWS

ROWS_TO_LEARN = 10  # rows that a label needs to be learned
LABEL_CHARS = 60  # characters of a label in a message
SAMPLE_ROWS = 50_000  # in which columns are searched that give labels away
LEAST_ROWS = 20
ROWS_PER_VALUE = 5  # mean rows a value of a column that gives labels away
WRONG = 0.05  # share of the rows without the most frequent label that the column's values may get wrong
ROWS_ENOUGH = 10  # such rows, from which one wrong row is always allowed
NO_LABEL_COLUMN = Issue(
    "no-label-column", "error", "no label column was found", "Name it: label=COLUMN, one of {columns}"
)
NO_LABELS = Issue("no-labels", "error", "no row has a label", "Label them, or name the column: label=COLUMN")
NO_TEST_LABELS = Issue(
    "no-test-labels",
    "warning",
    "a test file without labels, which is not scored",
    "Predict it once the model is trained: finetune predict RUN {file}",
)
MISSING_LABEL = Issue(
    "missing-label",
    "warning",
    "rows without a label",
    "Label them; rows without a label are skipped, and `fix` drops them",
    worst="error",
)
BLANK_LABEL = Issue(
    "blank-label",
    "warning",
    "placeholder labels (nan, null)",
    "Leave the cell empty where there is no label; these count as labels",
)
LABEL_VARIANT = Issue(
    "label-variant",
    "warning",
    "labels that differ only in case or spaces",
    "Use one spelling, as `fix` does; they count as different labels",
)
LABEL_TYPO = Issue(
    "label-typo", "warning", "rare labels that may be typos of a frequent one", "Fix the ones that are typos"
)
SINGLE_ROW = Issue(
    "single-row",
    "warning",
    "labels with a single row, which cannot be in train and dev",
    "Add rows, merge these labels with others, or drop them",
)
FEW_ROWS = Issue("few-rows", "warning", f"labels with fewer than {ROWS_TO_LEARN} rows", SINGLE_ROW.remedy)
LABEL_GIVEN_AWAY = Issue(
    "label-given-away",
    "warning",
    "an unused column determines the label almost completely",
    "Check that the text does not contain it, and that the label is not derived from it",
)


def unlabelled_test(part: SplitFile) -> Iterator[Finding]:
    """A test file without labels: it has no column of them, or one value in all rows that no training row has."""
    if part.unlabelled:
        what = f"the file has no labels, so that it is not scored: {part.unlabelled}"
        yield Finding(NO_TEST_LABELS, what, remedy=NO_TEST_LABELS.remedy.format(file=part.file))


def missing_labels(part: SplitFile) -> Iterator[Finding]:
    """Rows without a label; a file that is only scored may have none at all."""
    if part.unlabelled:
        return
    must_have = part.split in ("train", "dev")
    if not part.layout.label:
        others = [name for name in part.table.columns if name not in part.layout.text] or part.table.columns
        columns = ", ".join(" ".join(name.split()) for name in others)  # a name may have lines
        what, remedy = NO_LABEL_COLUMN.meaning, NO_LABEL_COLUMN.remedy.format(columns=columns)
        if len(part.table.columns) == 1:
            example = shown(next(filter(None, part.texts), ""))
            what += f": the file has a single column, such as {example}"
            remedy = "Give each row a text and a label, for example as CSV with the columns text and label"
        if part.trains:
            remedy += "; text without labels is read with shape=text"
        yield Finding(NO_LABEL_COLUMN, what, remedy=remedy)
    elif not labelled(part):
        if must_have:
            yield Finding(NO_LABELS)
    elif indexes := [index for index, gold in enumerate(part.golds) if gold is None and part.texts[index]]:
        if must_have and len(indexes) > MOST_OF_ROWS * part.size:
            remedy = "Drop them with `fix`, or name another column: label=COLUMN"
            yield Finding(MISSING_LABEL, "most rows have no label", indexes, remedy, worst=True)
        else:
            yield Finding(MISSING_LABEL, indexes=indexes)


def blank_labels(part: SplitFile) -> Iterator[Finding]:
    """Placeholder labels."""
    names = [name for name in part.label_counts if name.casefold() in BLANK]
    if names and part.kind.closed_labels:
        yield Finding(BLANK_LABEL, f"placeholder labels: {first_quoted(names)}", part.rows_with(names))


def spellings(part: SplitFile) -> Iterator[Finding]:
    """Labels that differ only in case or spaces, and typos of a frequent label."""
    if not part.kind.closed_labels:
        return
    counts = part.label_counts
    if changed := unified(counts):
        remedy = "" if part.kind.labels_rows else "Use one spelling; they count as different labels"
        what = f"{LABEL_VARIANT.meaning}: {_changes(changed)}"
        yield Finding(LABEL_VARIANT, what, part.rows_with(changed), remedy)
    if typos := misspelled(counts):
        yield Finding(LABEL_TYPO, f"{LABEL_TYPO.meaning}: {_changes(typos)}", part.rows_with(typos))


def _changes(meant: dict[str, str]) -> str:
    """`'GOOD' for 'good'`: the first names and their corrections."""
    return ", ".join(f"{shown(name)} for {shown(right)}" for name, right in list(meant.items())[:MOST_NAMED])


def small_classes(part: SplitFile) -> Iterator[Finding]:
    """Labels with too few rows in the training file."""
    if not part.kind.closed_labels or not part.trains:
        return
    meant, counts = unified(part.label_counts), Counter[str]()
    for name, count in part.label_counts.items():
        counts[meant.get(name, name)] += count
    single = {name: name for name, count in counts.items() if count < 2}
    few = {name: f"{name} ({count})" for name, count in counts.items() if 2 <= count < ROWS_TO_LEARN}
    for issue, rare in ((SINGLE_ROW, single), (FEW_ROWS, few)):
        if rare:
            listed = [
                name if len(name) <= LABEL_CHARS and name.isprintable() else shown(name, LABEL_CHARS)
                for name in rare.values()
            ]
            yield Finding(issue, f"{issue.meaning}: {first_of(listed, MOST_NAMED)}", part.rows_with(rare))


def leaking_columns(part: SplitFile) -> Iterator[Finding]:
    """Columns that are neither text nor label, and that determine the label almost completely."""
    layout, columns = part.layout, part.table.columns
    if not part.trains or not part.kind.labels_rows:
        return
    rows = _sample(part)
    labels = [part.golds[row] for row in rows]
    for name, cells in columns.items():
        if name in (*layout.text, *layout.label, layout.id, layout.group) or _is_of_annotator(name, layout.label):
            continue
        values = ["" if is_missing(cells[row]) else as_text(cells[row]).strip() for row in rows]
        is_other = values.count("") > 0.5 * len(values) or any(holds(columns, name, label) for label in layout.label)
        if not is_other and _decides(values, labels):
            yield Finding(LABEL_GIVEN_AWAY, f"the column '{name}' leaks the label (determines it almost completely)")


def _is_of_annotator(name: str, label: Sequence[str]) -> bool:
    """Whether a column has another annotator's labels of the same rows: `label_2` next to `label_1`, `rater1`."""
    if len(label) != 1:
        return False
    series, of_label = stem_of(name), label[0].lower()
    is_alike = series in (stem_of(label[0]) or of_label, of_label)
    return is_other_annotator(name) or (series != "" and (is_alike or names_annotator(series)))


def _decides(values: Sequence[str], labels: Sequence[Hashable]) -> bool:
    """Whether the values determine nearly all labels, and the same values shuffled do not."""
    count, kinds = len(values), len(set(values))
    if count < LEAST_ROWS or kinds < 2 or ROWS_PER_VALUE * max(kinds, len(set(labels))) > count:
        return False

    def unlike(values: Iterable[str]) -> int:
        """Rows with a label other than the most frequent one of their value."""
        most: dict[str, int] = {}
        for (value, _), rows in Counter(zip(values, labels, strict=True)).items():
            most[value] = max(rows, most.get(value, 0))
        return count - sum(most.values())

    before = unlike([""] * count)
    shuffled = [values[place] for place in np.random.default_rng(0).permutation(count)]
    allowed = max(WRONG * before, before >= ROWS_ENOUGH)
    return before > 0 and unlike(values) <= allowed and unlike(shuffled) > 0.5 * before


def _sample(part: SplitFile) -> list[int]:
    rows = [row for row, gold in enumerate(part.golds) if gold is not None]
    if len(rows) <= SAMPLE_ROWS:
        return rows
    return [rows[index] for index in np.sort(np.random.default_rng(0).choice(len(rows), SAMPLE_ROWS, replace=False))]
