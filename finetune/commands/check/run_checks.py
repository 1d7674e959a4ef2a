"""`finetune check DATA`: runs all checks on a file or folder."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.quiet import plainly
from finetune.checks.all_checks import CHECKS, findings, worst_first
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile, part_of
from finetune.commands.check.corpus import CorpusFacts
from finetune.commands.check.fix import require_place_for_copy, write_fixed
from finetune.commands.check.tokenization import tokens
from finetune.data.files import split_files
from finetune.data.issues import SEVERITIES
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.recipe import Recipe, parse
from finetune.task_types.columns import Layout
from finetune.task_types.label_relations import with_relations
from finetune.task_types.mistaken_labels import with_mistakes
from finetune.task_types.own_data import OPTIONS, every_option, guessed, own_table, setting_texts, usable_labels
from finetune.task_types.starting_recipe import MODEL, fitting_length

if TYPE_CHECKING:
    import pandas as pd


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
    recipe = _recipe(path, settings)
    given = setting_texts({key: v for key, v in recipe.options.items() if key in OPTIONS})
    files = split_files(Path(path), dev=given.pop("dev", ""), test=given.pop("test", ""))
    by_column = given.pop("split", "")
    encoding, sheet = (given.pop(name, "") for name in ("encoding", "sheet"))
    keep, drop, order, levels = (given.pop(name, "") for name in ("keep", "drop", "order", "levels"))
    tables = {split: own_table(file, encoding, sheet) for split, file in files.items()}
    layout = with_mistakes(guessed(tables["train"], given), list(tables.values()), keep, drop)
    every = replace(layout, labels=usable_labels(layout, tables.values()))  # of dev and test too
    layout = replace(with_relations(every, order, levels), labels=layout.labels)
    parts = tuple(part_of(split, layout, table, by_column=by_column) for split, table in tables.items())
    fitting = fitting_length(layout, tables["train"].columns, recipe.model)
    length = recipe.max_length if "max_length" in settings else fitting
    of_tokens = tokens([part for part in parts if part.has(layout.text)], recipe, length)
    return Findings(layout=layout, parts=parts, findings=tuple(worst_first([*findings(parts, CHECKS), *of_tokens])))


def _recipe(path: str, settings: Mapping[str, Any]) -> Recipe:
    """A recipe with these settings, validated."""
    own = path if Path(path).is_absolute() else f"./{path}"  # no task has such a name
    named = {(f"options.{key}" if key in OPTIONS else key): value for key, value in settings.items()}
    start = parse({"task": own, "model": MODEL}, origin=path)
    return start.with_settings(named, origin="settings", options=lambda _: every_option())
