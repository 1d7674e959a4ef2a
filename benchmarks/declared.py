"""Tables and lists of docs/ generated from declarations; `python benchmarks/measured.py --write` writes them."""

import tomllib
from collections.abc import Callable
from pathlib import Path

from finetune.checks.all_checks import CHECKS
from finetune.checks.tokenization import ISSUES
from finetune.data.formats.registry import BY_SUFFIX
from finetune.data.issues import Issue
from finetune.models.families import FAMILIES
from finetune.task_types.types import OWN

KOREAN = tomllib.loads((Path(__file__).parent / "findings_ko.toml").read_text(encoding="utf-8"))
SEVERITY_KO = {"error": "오류", "warning": "경고", "note": "참고"}


def every_issue() -> list[Issue]:
    """Every issue that a check can report, once, in the order of the checks."""
    return list(dict.fromkeys([*(issue for check in CHECKS for issue in check.issues), *ISSUES]))


def findings_table(header: str, severity: Callable[[str], str], meaning: Callable[[Issue], str]) -> str:
    """One line per issue: code, severity (and worst severity), meaning."""
    lines = [header, "|---|---|---|"]
    for issue in every_issue():
        grades = ", ".join(severity(grade) for grade in (issue.severity, issue.worst) if grade)
        lines.append(f"| `{issue.code}` | {grades} | {meaning(issue)} |")
    return "\n".join(lines)


def blocks() -> dict[str, str]:
    """Blocks generated from declarations, by marker."""
    return {
        "families": ", ".join(family.title for family in FAMILIES.values()),
        "types": ", ".join(f"`{kind.name}`" for kind in OWN),
        "suffixes": ", ".join(f"`{suffix}`" for suffix in sorted(BY_SUFFIX)),
        "checks": findings_table("| finding | severity | meaning |", str, lambda issue: issue.meaning),
        "checks-ko": findings_table(
            "| 코드 | 정도 | 뜻 |", SEVERITY_KO.__getitem__, lambda issue: str(KOREAN[issue.code])
        ),
    }
