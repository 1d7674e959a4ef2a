"""Every check of a file's rows, in the order in which they are made; `tokenization` asks the encoder as well."""

from collections.abc import Iterable, Sequence

from finetune.checks import (
    across_splits,
    duplicates,
    file_format,
    ids,
    label_leaks,
    labels,
    of_types,
    text,
)
from finetune.checks.check import Check
from finetune.checks.finding import Finding
from finetune.checks.split_data import Part
from finetune.data.issues import SEVERITIES

FILES = (
    file_format,
    ids,
    text,
    labels,
    of_types,
    label_leaks,
    across_splits,
    duplicates,
)
CHECKS: tuple[Check, ...] = tuple(check for file in FILES for check in file.CHECKS)


def findings(parts: Sequence[Part], checks: Iterable[Check]) -> list[Finding]:
    """What the checks find in the files of the splits, the worst first."""
    return worst_first(finding for check in checks for finding in check.find(parts))


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """Findings by severity."""
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
