"""`finetune check DATA`: runs all checks on a file or folder."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.quiet import plainly
from finetune.checks.all_checks import CHECKS, findings, parts_of, worst_first
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile
from finetune.commands.check.corpus import CorpusFacts
from finetune.commands.check.fix import require_place_for_copy, write_fixed
from finetune.commands.check.tokenization import tokens
from finetune.data.issues import SEVERITIES, Issue
from finetune.data.messages import so_many
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.own_data import own_data
from finetune.task_types.prepare import load_splits
from finetune.training.targets import expand_targets

if TYPE_CHECKING:
    import pandas as pd

REFUSED = Issue(
    code="refused",
    severity="error",
    meaning="what `run` stops at, such as too few rows to hold some out as dev",
    remedy="Correct it",
)


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What `finetune.check` returns.

    Example: `findings.counts["error"]`, `findings.frame`

    Attributes:
        layout: What each column was taken for, and why.
        parts: The splits, with their tables; of unlabelled text none.
        findings: What was found, the most severe first; each has `severity`, `code`, `what`, `remedy`, `rows`, `count`.
        corpus: Of unlabelled text, what it holds: documents, lines, bytes, tokens; else None.
    """

    layout: Layout
    parts: tuple[SplitFile, ...]
    findings: tuple[FileFinding, ...]
    corpus: CorpusFacts | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings by severity."""
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in SEVERITIES}

    def fails(self, *, strict: bool = False) -> bool:
        """Whether there is an error or, with `strict`, a warning."""
        return self.counts["error"] > 0 or (strict and self.counts["warning"] > 0)

    @property
    def counted(self) -> str:
        """`2 errors, 1 warning, 3 notes`."""
        return ", ".join(so_many(count, severity) for severity, count in self.counts.items())

    def as_json(self) -> dict[str, Any]:
        """The findings as JSON values; of a text also what it holds."""
        files: dict[str, Any] = {
            "files": {part.split: part.file for part in self.parts},
            "format": {part.split: str(part.table.form) for part in self.parts},
            "rows": {part.split: len(part.table) + len(part.table.faults) for part in self.parts},
        }
        what = files if self.corpus is None else {"corpus": asdict(self.corpus)}
        found = {"findings": [finding.as_json() for finding in self.findings], "counts": self.counts}
        return what | {"layout": asdict(self.layout)} | found

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each finding."""
        import pandas as pd

        names = ("severity", "code", "what", "count", "rows", "remedy", "file")
        return pd.DataFrame([{name: getattr(one, name) for name in names} for one in self.findings], columns=names)

    @plainly
    def fix(self, file: str | Path, *, escape_formulas: bool = False, force: bool = False) -> dict[str, int]:
        """Writes a copy of the training data in which what can be fixed is fixed.

        Example: `findings.fix("fixed.csv")`

        Args:
            file: The file to write.
            escape_formulas: Add an apostrophe to cells that a spreadsheet would run as formulas.
            force: Replace a file that we did not write.

        Returns:
            The number of fixes of each kind.

        Raises:
            UserError: If the file is one of the user's, or its format cannot hold the columns.
        """
        if not self.parts:
            raise UserError("unlabelled text has no cells to fix", "Leave the fixed copy out")
        require_place_for_copy(Path(file), str(self.parts[0].table.path), force=force)
        return write_fixed(self.parts[0], Path(file), escape=escape_formulas)

    def __repr__(self) -> str:
        rows = sum(len(part.table) for part in self.parts)
        among = so_many(rows) if self.corpus is None else so_many(self.corpus.documents, "document")
        return f"<Findings in {among}: {self.counted}>"


def check_data(path: str, settings: Mapping[str, Any]) -> Findings:
    """Runs every check on a file or folder; `settings` are those of a run. Raises UserError for an unreadable file."""
    (planned, *_) = expand_targets([path], dict(settings))
    read, recipe = own_data(planned.task), planned.recipe
    assert read is not None  # `findings_of` has taken out unlabelled text
    parts = parts_of(read)
    found = findings(parts, CHECKS)
    if all(one.severity != "error" for one in found):
        try:
            load_splits(planned.task, source_of(None), limit=recipe.limit)
        except UserError as error:
            found.append(parts[0].found(REFUSED, what=error.what, remedy=error.way_out))
    of_tokens = tokens([part for part in parts if part.has(read.layout.text)], recipe, recipe.max_length)
    layout = replace(read.layout, file={})
    return Findings(layout=layout, parts=parts, findings=tuple(worst_first([*found, *of_tokens])))
