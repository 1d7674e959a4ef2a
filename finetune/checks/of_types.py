"""Checks of one task type: label balance, tags, answer spans, choices."""

from collections.abc import Iterator

from finetune.checks.check import Check, in_each
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile
from finetune.task_types.findings import SHARED
from finetune.task_types.types import OWN


def of_rows(part: SplitFile) -> Iterator[FileFinding]:
    """The findings that the task type declares."""
    for one in part.kind.findings(part):
        yield part.found(one.issue, one.indexes, what=one.what, remedy=one.remedy, worst=one.worst)


CHECKS = (
    Check(find=in_each(of_rows), issues=(*SHARED, *(issue for kind in OWN for issue in kind.issues)), refuses=True),
)
