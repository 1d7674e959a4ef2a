"""Tables and lists of docs/ generated from declarations; `python docs/generate/pages.py --write` writes them."""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from finetune.analysis.table import Cells, markdown_table
from finetune.checks import all_checks
from finetune.commands.check.api import REFUSED
from finetune.commands.check.tokenization import ISSUES
from finetune.data.detect import BY_SUFFIX, FORMATS
from finetune.data.issues import Issue
from finetune.models.families import FAMILIES
from finetune.task_types.declared_options import declared_options
from finetune.task_types.types import own_types

KOREAN = tomllib.loads((Path(__file__).parent / "findings_ko.toml").read_text(encoding="utf-8"))
SEVERITY_KO = {"error": "오류", "warning": "경고", "note": "참고"}


def every_issue() -> list[Issue]:
    """Every issue that a check can report, once."""
    return [*all_checks.every_issue(), REFUSED, *ISSUES]


def findings_table(head: Sequence[str], severity: Callable[[str], str], meaning: Callable[[Issue], str]) -> str:
    """One line per issue: code, severity (and worst severity), meaning."""
    lines = list[Cells]()
    for issue in every_issue():
        grades = ", ".join(severity(grade) for grade in (issue.severity, issue.worst) if grade)
        lines.append([f"`{issue.code}`", grades, meaning(issue)])
    return markdown_table(head, lines)


def formats_table() -> str:
    """One line per file format, in the order in which content is tried."""
    head, lines = ["format", "written to files that end with"], list[Cells]()
    for one in FORMATS:
        suffixes = ", ".join(f"`{suffix}`" for suffix in one.suffixes if BY_SUFFIX.get(suffix) is one)
        lines.append([one.title, suffixes or "only read"])
    return markdown_table(head, lines)


def options_table() -> str:
    """One line per option of the task types, with its default."""
    head, lines = ["task type", "option", "default", "meaning"], list[Cells]()
    seen: set[type] = set()
    for kind in own_types().values():
        if kind.task_class in seen:
            continue
        seen.add(kind.task_class)
        names = ", ".join(f"`{one.name}`" for one in own_types().values() if one.task_class is kind.task_class)
        for each in declared_options(kind.task_class):
            lines.append([names, f"`{each.name}`", "–" if each.default is None else each.default, each.meaning])
    return markdown_table(head, lines)


def blocks() -> dict[str, str]:
    """Blocks generated from declarations, by marker."""
    return {
        "families": ", ".join(family.title for family in FAMILIES.values()),
        "types": ", ".join(f"`{kind.name}`" for kind in own_types().values()),
        "suffixes": ", ".join(f"`{suffix}`" for suffix in sorted(BY_SUFFIX)),
        "formats": formats_table(),
        "options": options_table(),
        "checks": findings_table(["finding", "severity", "meaning"], str, lambda issue: issue.meaning),
        "checks-ko": findings_table(
            ["코드", "심각도", "뜻"], SEVERITY_KO.__getitem__, lambda issue: str(KOREAN[issue.code])
        ),
    }
