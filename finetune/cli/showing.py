"""What `finetune check DATA` prints of a report."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from finetune.checks.finding import Finding
from finetune.checks.run_checks import Report
from finetune.data.messages import places, so_many
from finetune.data.table import Table as Data
from finetune.task_types.columns import Layout

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}
SHOWN = 5  # row numbers


def layout_table(layout: Layout) -> Table:
    """What the columns mean, and why."""
    given = {
        "shape": layout.shape,
        "text": ", ".join(layout.text),
        "label": ", ".join(layout.label) or "none was found",
        "id": layout.id,
        "group": layout.group,
    }
    table = Table(title="layout", title_justify="left", show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for name, value in given.items():
        if value:
            table.add_row(name, value, layout.reasons.get(name, ""))
    return table


def file_line(split: str, table: Data) -> str:
    """`train reviews.csv: text parted by commas, in UTF-8, quotes mean nothing; 120 rows`."""
    return f"{split} {table.path}: {table.form}; {so_many(len(table) + len(table.faults))}"


def finding_lines(findings: Sequence[Finding]) -> Iterator[tuple[Text, str]]:
    """Of each finding its code, in colour; then what it is, where, and what to do."""
    for finding in findings:
        code = Text(f"{finding.severity} {finding.code}", STYLES[finding.severity])
        yield code, f": {finding.what}\n  {_place(finding)}\n  -> {finding.remedy}"


def summary(report: Report) -> str:
    """`2 errors, 1 warning, 3 notes`."""
    return ", ".join(so_many(count, severity) for severity, count in report.counts.items())


def _place(finding: Finding) -> str:
    """`reviews.csv: rows 3, 17, 40 and 9 more; lines 4, 18, 41`."""
    if not finding.count:
        return finding.file
    found = list(zip(finding.rows, finding.lines, strict=True))
    return f"{finding.file}: {places(found, most=SHOWN, count=finding.count)}"
