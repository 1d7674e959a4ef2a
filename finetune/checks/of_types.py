"""Checks of one task type: label balance, tags, answer spans, choices."""

from collections.abc import Iterator

from finetune.checks.check import Check, in_each
from finetune.checks.finding import Finding
from finetune.checks.split_data import SplitFile
from finetune.task_types.remarks import SHARED
from finetune.task_types.types import OWN


def remarks(part: SplitFile) -> Iterator[Finding]:
    """The findings that the task type declares."""
    for one in part.kind.remarks(part):
        yield part.found(one.issue, one.indexes, what=one.what, remedy=one.remedy, worst=one.worst)


CHECKS = (
    Check(find=in_each(remarks), issues=(*SHARED, *(issue for kind in OWN for issue in kind.issues)), refuses=True),
)
