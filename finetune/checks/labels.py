"""Checks of labels: missing labels, spelling variants, and rows per label."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from finetune.checks.finding import MOST_OF_ROWS, FileFinding
from finetune.checks.split_data import Check, SplitFile, in_each, labelled
from finetune.checks.text import BLANK
from finetune.data.issues import Issue
from finetune.data.messages import first_of, shown
from finetune.data.spellings import misspelled, unified
from finetune.data.values import as_number

ROWS_TO_LEARN = 10  # rows that a label needs to be learned
LABELS_SHOWN = 5
LABEL_CHARS = 60  # characters of a label in a message
NO_LABEL_COLUMN = Issue(
    code="no-label-column",
    severity="error",
    meaning="no label column was found",
    remedy="Name it: label=COLUMN, one of {columns}",
)
NO_LABELS = Issue(
    code="no-labels",
    severity="error",
    meaning="no row has a label",
    remedy="Label them, or name the column: label=COLUMN",
)
NO_TEST_LABELS = Issue(
    code="no-test-labels",
    severity="warning",
    meaning="a test file without labels, which is not scored",
    remedy="Predict it once the model is trained: finetune predict RUN {file}",
)
MISSING_LABEL = Issue(
    code="missing-label",
    severity="warning",
    worst="error",
    meaning="rows without a label",
    remedy="Label them; rows without a label are skipped, and `fix` drops them",
)
BLANK_LABEL = Issue(
    code="blank-label",
    severity="warning",
    meaning="placeholder labels (nan, null)",
    remedy="Leave the cell empty where there is no label; these count as labels",
)
LABEL_VARIANT = Issue(
    code="label-variant",
    severity="warning",
    meaning="labels that differ only in case or spaces",
    remedy="Use one spelling, as `fix` does; they count as different labels",
)
LABEL_NUMBER = Issue(
    code="label-number",
    severity="warning",
    meaning="equal numbers written differently",
    remedy="Use one spelling; they count as different labels",
)
LABEL_TYPO = Issue(
    code="label-typo",
    severity="warning",
    meaning="rare labels that may be typos of a frequent one",
    remedy="Fix the ones that are typos",
)
SINGLE_ROW = Issue(
    code="single-row",
    severity="warning",
    meaning="labels with a single row, which cannot be in train and dev",
    remedy="Add rows, merge these labels with others, or drop them",
)
FEW_ROWS = Issue(
    code="few-rows",
    severity="warning",
    meaning=f"labels with fewer than {ROWS_TO_LEARN} rows",
    remedy=SINGLE_ROW.remedy,
)


def missing_labels(part: SplitFile) -> Iterator[FileFinding]:
    """Rows without a label; a test file may have none at all."""
    if part.unlabelled:
        return
    if not part.layout.label:
        others = [name for name in part.table.columns if name not in part.layout.text] or part.table.columns
        columns = ", ".join(" ".join(name.split()) for name in others)  # a name may have lines
        remedy = NO_LABEL_COLUMN.remedy.format(columns=columns)
        what = NO_LABEL_COLUMN.meaning
        if len(part.table.columns) == 1:
            example = shown(next((text for text in part.texts if text), ""))
            what += f": the file has a single column, such as {example}"
            remedy = "Give each row a text and a label, for example as CSV with the columns text and label"
        if part.split == "train":
            remedy += "; text without labels is read with shape=text"
        yield part.found(NO_LABEL_COLUMN, what=what, remedy=remedy)
        return
    if not labelled(part):
        if part.split != "test":
            yield part.found(NO_LABELS)
        return
    indexes = [i for i, gold in enumerate(part.golds) if gold is None and part.texts[i]]
    if indexes:
        most = len(indexes) > MOST_OF_ROWS * part.size and part.split != "test"
        what = "most rows have no label" if most else ""
        other = "Drop them with `fix`, or name another column: label=COLUMN"
        yield part.found(MISSING_LABEL, indexes, what=what, remedy=other if most else "", worst=most)


def unlabelled_test(part: SplitFile) -> Iterator[FileFinding]:
    """A test file without labels: it has no column of them, or one value in all rows that no training row has."""
    if part.unlabelled:
        what = f"the file has no labels, so that it is not scored: {part.unlabelled}"
        yield part.found(NO_TEST_LABELS, what=what, remedy=NO_TEST_LABELS.remedy.format(file=part.file))


def blank_labels(part: SplitFile) -> Iterator[FileFinding]:
    """Placeholder labels."""
    if not part.kind.closed_labels:
        return
    if found := [name for name in part.label_counts if name.casefold() in BLANK]:
        what = f"placeholder labels: {', '.join(map(shown, found))}"
        yield part.found(BLANK_LABEL, part.rows_with(found), what=what)


def variants(part: SplitFile) -> Iterator[FileFinding]:
    """Labels that differ only in case or spaces, and equal numbers written differently."""
    if not part.kind.closed_labels:
        return
    if changed := unified(part.label_counts):
        pairs = ", ".join(f"{shown(old)} for {shown(new)}" for old, new in list(changed.items())[:LABELS_SHOWN])
        remedy = "" if part.kind.respelled else "Use one spelling; they count as different labels"
        what = f"{LABEL_VARIANT.meaning}: {pairs}"
        yield part.found(LABEL_VARIANT, part.rows_with(changed), what=what, remedy=remedy)
    by_number: defaultdict[float | None, list[str]] = defaultdict(list)
    for name in part.label_counts:
        by_number[as_number(name)].append(name)
    again = [names for number, names in by_number.items() if number is not None and len(names) > 1]
    if again:
        ways = "; ".join(", ".join(map(shown, some)) for some in again[:LABELS_SHOWN])
        rare = [name for names in again for name in sorted(names, key=lambda name: -part.label_counts[name])[1:]]
        yield part.found(LABEL_NUMBER, part.rows_with(rare), what=f"{LABEL_NUMBER.meaning}: {ways}")


def typos(part: SplitFile) -> Iterator[FileFinding]:
    """Rare labels one edit away from a frequent one."""
    if not part.kind.closed_labels:
        return
    found = {name: meant for name, meant in misspelled(part.label_counts).items() if name not in part.layout.doubts}
    if found:
        pairs = ", ".join(f"{shown(old)} for {shown(new)}" for old, new in list(found.items())[:LABELS_SHOWN])
        yield part.found(LABEL_TYPO, part.rows_with(found), what=f"{LABEL_TYPO.meaning}: {pairs}")


def small_classes(part: SplitFile) -> Iterator[FileFinding]:
    """Labels with too few rows in the training file."""
    if not part.kind.closed_labels or not part.trains:
        return
    spellings = unified(part.label_counts)
    counts: Counter[str] = Counter()
    for name, count in part.label_counts.items():
        counts[spellings.get(name, name)] += count
    alone, few = [n for n, c in counts.items() if c < 2], [n for n, c in counts.items() if 2 <= c < ROWS_TO_LEARN]
    if alone:
        yield part.found(SINGLE_ROW, part.rows_with(alone), what=f"{SINGLE_ROW.meaning}: {_listed(alone)}")
    if few:
        what = f"{FEW_ROWS.meaning}: {_listed(f'{name} ({counts[name]})' for name in few)}"
        yield part.found(FEW_ROWS, part.rows_with(few), what=what)


def _listed(names: Iterable[str]) -> str:
    every = [name if len(name) <= LABEL_CHARS and name.isprintable() else shown(name, LABEL_CHARS) for name in names]
    return first_of(every, LABELS_SHOWN)


CHECKS = (
    Check(find=in_each(unlabelled_test), issues=(NO_TEST_LABELS,)),
    Check(find=in_each(missing_labels), issues=(NO_LABEL_COLUMN, NO_LABELS, MISSING_LABEL), refuses=True, noted=True),
    Check(find=in_each(blank_labels), issues=(BLANK_LABEL,), noted=True),  # `none` may be a label
    Check(find=in_each(variants), issues=(LABEL_VARIANT, LABEL_NUMBER)),
    Check(find=in_each(typos), issues=(LABEL_TYPO,)),
    Check(find=in_each(small_classes), issues=(SINGLE_ROW, FEW_ROWS), noted=True),
)
