"""Checks that only one type of data has: its labels' balance, tags, answers, choices."""

from collections.abc import Iterator

from finetune.checks.check import Check, in_each
from finetune.checks.finding import Finding
from finetune.checks.split_data import Part
from finetune.task_types.remarks import SHARED
from finetune.task_types.types import OWN


def remarks(part: Part) -> Iterator[Finding]:
    """What the type of the data has to say of a file's rows."""
    for one in part.kind.remarks(part):
        yield part.found(one.issue, one.indexes, what=one.what, remedy=one.remedy, worst=one.worst)


CHECKS = (
    Check(find=in_each(remarks), issues=(*SHARED, *(issue for kind in OWN for issue in kind.issues)), refuses=True),
)
