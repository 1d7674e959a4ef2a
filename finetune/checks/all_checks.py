"""All checks of data in the order they run; those in `tokenization` also need the encoder's tokenizer."""

from collections.abc import Iterable, Iterator, Sequence

from finetune.checks import across_splits, file_format, label_leaks, labels, text
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import Check, SplitFile, in_each, part_of
from finetune.data.issues import SEVERITIES
from finetune.task_types.findings import SHARED
from finetune.task_types.own_data import OwnData
from finetune.task_types.types import OWN


def of_type(part: SplitFile) -> Iterator[FileFinding]:
    """The findings that the task type declares: label balance, tags, answer spans, choices."""
    for one in part.kind.findings(part):
        yield part.found(one.issue, one.indexes, what=one.what, remedy=one.remedy, worst=one.worst)


FILES = (file_format, text, labels, label_leaks, across_splits)
OF_TYPE = Check(
    find=in_each(of_type), issues=(*SHARED, *(issue for kind in OWN for issue in kind.issues)), refuses=True, noted=True
)
CHECKS: tuple[Check, ...] = (
    *(check for file in FILES[:3] for check in file.CHECKS),
    OF_TYPE,
    *(check for file in FILES[3:] for check in file.CHECKS),
)


def findings(parts: Sequence[SplitFile], checks: Iterable[Check]) -> list[FileFinding]:
    """Findings of the checks over all splits, most severe first."""
    return worst_first(finding for check in checks for finding in check.find(parts))


def parts_of(read: OwnData) -> tuple[SplitFile, ...]:
    """The files of a user's data as the checks see them."""
    return tuple(
        part_of(split, read.layout, read.table(file), by_column=read.split, unlabelled=read.unlabelled(split))
        for split, file in read.files.items()
    )


def worst_first(found: Iterable[FileFinding]) -> list[FileFinding]:
    """Findings sorted by severity, errors first."""
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
