"""All checks of data in the order they run; those of tokens also need the encoder's tokenizer."""

from collections.abc import Callable, Iterable, Sequence

from finetune.checks import across_splits, cells, labels, tokens
from finetune.checks.split_data import FileFinding, SplitFile
from finetune.data.issues import READING, SEVERITIES, Finding, Issue
from finetune.task_types import columns
from finetune.task_types.findings import SHARED
from finetune.task_types.types import own_types

Check = Callable[[SplitFile], Iterable[Finding]]


def of_type(part: SplitFile) -> Iterable[Finding]:
    """The findings of the task type: label balance, tags, answer spans, choices."""
    return part.kind.findings(part)


CHECKS: tuple[Check, ...] = (
    *(cells.encoding, cells.header_names, cells.lost_rows, cells.double_ids),
    *(cells.named_splits, cells.odd_texts),
    *(labels.unlabelled_test, labels.missing_labels, labels.blank_labels, labels.spellings, labels.small_classes),
    *(of_type, labels.leaking_columns),
    *(across_splits.unseen_labels, across_splits.group_leaks, across_splits.text_leaks, across_splits.wrong_splits),
    across_splits.repeated,
)
# At the errors of these a run stops.
STOPPING: tuple[Check, ...] = (
    *(cells.lost_rows, labels.missing_labels, of_type),
    *(across_splits.unseen_labels, across_splits.wrong_splits),
)
# What these find a run says elsewhere: in a note on rows that are left out, or in its diagnosis.
NOTED: tuple[Check, ...] = (
    *(cells.encoding, cells.lost_rows, labels.missing_labels, labels.blank_labels, labels.small_classes),
    *(of_type, across_splits.text_leaks, across_splits.repeated),
)


def findings(parts: Sequence[SplitFile], checks: Iterable[Check] = CHECKS) -> list[FileFinding]:
    """Findings of the checks over all splits, most severe first; in files without a column of the texts only that."""
    found = [part.placed(finding) for part in parts for finding in across_splits.missing_columns(part)]
    readable = [part for part in parts if part.has(part.layout.text)]
    found += [part.placed(finding) for check in checks for part in readable for finding in check(part)]
    return worst_first(found)


def worst_first(found: Iterable[FileFinding]) -> list[FileFinding]:
    """Findings sorted by severity, errors first."""
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def every_issue() -> list[Issue]:
    """Every issue that a check can find: those that the files of checks declare, and those of reading and of types."""
    files = [value for file in (cells, labels, across_splits) for value in vars(file).values()]
    of_types = [issue for kind in own_types().values() for issue in kind.issues]
    every = [*READING, *columns.SHARED, *SHARED, *of_types, *files, *cells.ODD_TEXTS, *vars(tokens).values()]
    return list(dict.fromkeys(issue for issue in every if isinstance(issue, Issue)))
