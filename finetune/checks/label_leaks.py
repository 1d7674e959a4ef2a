"""Label leaks: a column that determines the label, or the label's name in the text."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from finetune.checks.finding import FileFinding
from finetune.checks.split_data import Check, SplitFile, in_each
from finetune.data.issues import Issue
from finetune.data.nested_fields import holds
from finetune.data.values import as_number, as_text, is_missing
from finetune.task_types.column_names import is_other_annotator, names_annotator, stem_of

SAMPLE_ROWS = 50_000
LEAST_ROWS = 20
EACH = 5  # mean rows a value of such a column
WRONG = 0.05  # share of the rows without the most frequent label that the column's values may get wrong
ROWS_ENOUGH = 10  # such rows, from which one wrong row is always allowed
NEARLY_ALL = 0.9  # share of the texts that contain their label's name
SHORTEST = 3  # letters of such a name
LABEL_GIVEN_AWAY = Issue(
    code="label-given-away",
    severity="warning",
    meaning="an unused column determines the label almost completely",
    remedy="Check that the text does not contain it, and that the label is not derived from it",
)
LABEL_IN_TEXT = Issue(
    code="label-in-text",
    severity="warning",
    meaning="nearly all texts contain their label's name and no other",
    remedy="Remove it from the texts; otherwise the model learns nothing else",
)


def leaking_columns(part: SplitFile) -> Iterator[FileFinding]:
    """Columns that are neither text nor label, and that determine the label almost completely."""
    layout = part.layout
    if not part.trains or not part.kind.labels_rows:
        return
    taken = (*layout.text, *layout.label, layout.id, layout.group)
    rows = _sample(part)
    labels = [part.golds[row] for row in rows]
    for name, cells in part.table.columns.items():
        values = [cells[row] for row in rows]
        if name in taken or _is_of_annotator(name, layout.label) or sum(map(is_missing, values)) > 0.5 * len(values):
            continue
        if any(holds(part.table.columns, name, label) for label in layout.label):
            continue
        if _decides([as_text(value).strip() for value in values], labels):
            what = f"the column '{name}' leaks the label (determines it almost completely)"
            yield part.found(LABEL_GIVEN_AWAY, what=what)


def _is_of_annotator(name: str, label: Sequence[str]) -> bool:
    """Whether a column has another annotator's labels of the same rows: `label_2` next to `label_1`, `rater1`."""
    if len(label) != 1:
        return False
    series, own = stem_of(name), label[0]
    alike = series in (stem_of(own) or own.lower(), own.lower())
    return is_other_annotator(name) or (series != "" and (alike or names_annotator(series)))


def label_in_text(part: SplitFile) -> Iterator[FileFinding]:
    """Texts that contain their label's name and no other."""
    if not part.trains or not part.kind.closed_labels:
        return
    folded = {name: name.casefold() for name in part.label_counts if len(name) >= SHORTEST and as_number(name) is None}
    if len(folded) < len(part.label_counts) or not 2 <= len(folded) <= 100:
        return
    rows = _sample(part)
    if not all(isinstance(part.golds[row], str) for row in rows):
        return
    naming = [row for row in rows if _names_its_own(part.texts[row].casefold(), part.golds[row], folded)]
    if len(rows) >= LEAST_ROWS and len(naming) >= NEARLY_ALL * len(rows):
        what = f"{100 * len(naming) / len(rows):.0f} % of the texts contain their label's name and no other"
        yield part.found(LABEL_IN_TEXT, naming, what=what)


def _names_its_own(text: str, label: str, folded: dict[str, str]) -> bool:
    own = folded[label]
    return own in text and not any(other in text for other in folded.values() if other not in own and own not in other)


def _sample(part: SplitFile) -> list[int]:
    """The labelled rows, or a sample of them with a fixed seed."""
    rows = [row for row, gold in enumerate(part.golds) if gold is not None]
    if len(rows) <= SAMPLE_ROWS:
        return rows
    return [rows[i] for i in np.sort(np.random.default_rng(0).choice(len(rows), SAMPLE_ROWS, replace=False))]


def _decides(values: Sequence[str], labels: Sequence[Hashable]) -> bool:
    """Whether the values determine nearly all labels, and the same values shuffled do not."""
    count, kinds = len(values), len(set(values))
    if count < LEAST_ROWS or kinds < 2 or EACH * max(kinds, len(set(labels))) > count:
        return False
    before = _unlike([""] * count, labels)
    allowed = max(WRONG * before, before >= ROWS_ENOUGH)
    shuffled = [values[place] for place in np.random.default_rng(0).permutation(count)]
    return before > 0 and _unlike(values, labels) <= allowed and _unlike(shuffled, labels) > 0.5 * before


def _unlike(values: Sequence[str], labels: Sequence[Hashable]) -> int:
    """How many rows have a label other than the majority label of their value."""
    most: dict[str, int] = {}
    for (value, _), count in Counter(zip(values, labels, strict=True)).items():
        most[value] = max(count, most.get(value, 0))
    return len(values) - sum(most.values())


CHECKS = (
    Check(find=in_each(leaking_columns), issues=(LABEL_GIVEN_AWAY,)),
    Check(find=in_each(label_in_text), issues=(LABEL_IN_TEXT,)),
)
