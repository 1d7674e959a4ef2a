"""All checks of data in the order they run; those in `tokenization` also need the encoder's tokenizer."""

from collections.abc import Iterable, Sequence

from finetune.checks import across_splits, duplicates, file_format, ids, label_leaks, labels, of_types, text
from finetune.checks.check import Check
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile
from finetune.data.issues import SEVERITIES

FILES = (file_format, ids, text, labels, of_types, label_leaks, across_splits, duplicates)
CHECKS: tuple[Check, ...] = tuple(check for file in FILES for check in file.CHECKS)


def findings(parts: Sequence[SplitFile], checks: Iterable[Check]) -> list[FileFinding]:
    """Findings of the checks over all splits, most severe first."""
    return worst_first(finding for check in checks for finding in check.find(parts))


def worst_first(found: Iterable[FileFinding]) -> list[FileFinding]:
    """Findings sorted by severity, errors first."""
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
