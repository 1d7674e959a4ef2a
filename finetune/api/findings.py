"""`finetune.check`: what is wrong with data, before anything is trained."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.html import html_table
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.quiet import plainly, without_hints
from finetune.checks.finding import Finding
from finetune.checks.fix import require_new_file, write_fixed
from finetune.checks.run_checks import Report, check_data
from finetune.data.messages import places, so_many

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5  # row numbers


class Findings(Report):
    """What `finetune.check` returns.

    Example: `findings.counts["error"]`, `findings.frame`

    Attributes:
        layout: What each column was taken for, and why.
        parts: The splits, with their tables.
        findings: What was found, the most severe first; each has `severity`, `code`, `what`, `remedy`, `rows`, `count`.
    """

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each finding."""
        import pandas as pd

        names = ("severity", "code", "what", "count", "rows", "remedy", "file")
        return pd.DataFrame([{name: getattr(one, name) for name in names} for one in self.findings], columns=names)

    @plainly
    def fix(self, file: str | Path, *, escape_formulas: bool = False) -> dict[str, int]:
        """Writes a copy of the training data in which what can be fixed is fixed.

        Example: `findings.fix("fixed.csv")`

        Args:
            file: The file to write.
            escape_formulas: Add an apostrophe to cells that a spreadsheet would run as formulas.

        Returns:
            The number of fixes of each kind.

        Raises:
            UserError: If the file exists, or its format cannot hold the columns.
        """
        require_new_file(Path(file), str(self.parts[0].table.path))
        return write_fixed(self.parts[0], Path(file), escape=escape_formulas)

    def __repr__(self) -> str:
        rows = sum(len(part.table) for part in self.parts)
        return f"<Findings in {so_many(rows)}: {self.counted}>"

    def _repr_html_(self) -> str:
        rows = [(one.severity, one.code, one.what, _place(one), one.remedy) for one in self.findings]
        return html_table(("severity", "code", "what", "where", "remedy"), rows, title=self.counted)


@plainly
def check(
    data: Any, *, text: str | Sequence[str] | None = None, label: str | Sequence[str] | None = None, **settings: Any
) -> Findings:
    """Checks data as `finetune check` does.

    Example: `finetune.check(df, text="review", label="stars")`

    Args:
        data: The path of a file or folder, or rows in memory as for `finetune.train`.
        text: The column of the text, or the columns of several.
        label: The column of the label, or for several labels a row their columns.
        **settings: Settings of a run, such as `model` or `max_length`, by which texts that are too long are found.

    Returns:
        The findings; `findings.fails()` says whether one is an error.

    Raises:
        UserError: For data that cannot be read, and columns that it does not have.
    """
    given = recipe_settings(settings, text=text, label=label)
    if is_path(data):
        return findings_of(str(data), given)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = stack.enter_context(in_memory(data, folder))
        found = findings_of(str(path), given)
        return replace(found, findings=tuple(_without(path, one) for one in found.findings))


def findings_of(path: str, settings: Mapping[str, Any]) -> Findings:
    """`check` of a file or folder, with settings that have dotted keys."""
    with without_hints():
        found = check_data(path, settings)
    return Findings(layout=found.layout, parts=found.parts, findings=found.findings)


def _without(path: Path, finding: Finding) -> Finding:
    """A finding that speaks of the data, not of a file that is deleted."""
    return replace(finding, what=finding.what.replace(str(path), "the data"), file="the data")


def _place(finding: Finding) -> str:
    found = [(row, row) for row in finding.rows]
    return places(found, most=SHOWN, count=finding.count) if finding.count and found else ""
