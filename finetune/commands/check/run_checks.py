"""`finetune check DATA`: runs all checks on a file or folder."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from finetune.checks.all_checks import CHECKS, findings, worst_first
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile, part_of
from finetune.commands.check.tokenization import tokens
from finetune.data.files import split_files
from finetune.data.issues import SEVERITIES
from finetune.data.messages import so_many
from finetune.runs.recipe import Recipe, parse
from finetune.task_types.columns import Layout
from finetune.task_types.label_relations import with_relations
from finetune.task_types.mistaken_labels import with_mistakes
from finetune.task_types.own_data import OPTIONS, every_option, guessed, own_table, setting_texts, usable_labels
from finetune.task_types.starting_recipe import MODEL, fitting_length


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """Layout, splits and findings of a file or folder, most severe finding first."""

    layout: Layout
    parts: tuple[SplitFile, ...]
    findings: tuple[FileFinding, ...]

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
        """The report as JSON values."""
        return {
            "files": {part.split: part.file for part in self.parts},
            "format": {part.split: str(part.table.form) for part in self.parts},
            "rows": {part.split: len(part.table) + len(part.table.faults) for part in self.parts},
            "layout": asdict(self.layout),
            **self.counted_findings(),
        }

    def counted_findings(self) -> dict[str, Any]:
        """The findings and their counts as JSON values."""
        return {"findings": [finding.as_json() for finding in self.findings], "counts": self.counts}


def check_data(path: str, settings: Mapping[str, Any]) -> CheckReport:
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
    return CheckReport(layout=layout, parts=parts, findings=tuple(worst_first([*findings(parts, CHECKS), *of_tokens])))


def _recipe(path: str, settings: Mapping[str, Any]) -> Recipe:
    """A recipe with these settings, validated."""
    own = path if Path(path).is_absolute() else f"./{path}"  # no task has such a name
    named = {(f"options.{key}" if key in OPTIONS else key): value for key, value in settings.items()}
    start = parse({"task": own, "model": MODEL}, origin=path)
    return start.with_settings(named, origin="settings", options=lambda _: every_option())
