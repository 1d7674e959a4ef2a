"""What `run` says of the user's data before it trains: errors that stop it, and other findings of `check`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from finetune.checks.all_checks import CHECKS, findings, parts_of
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile
from finetune.data.formats.excel import hint_of
from finetune.data.messages import places
from finetune.errors import UserError
from finetune.runs.record_parts import DataFinding
from finetune.task_types.own_data import OwnData, checking, own_data
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import LEAK
from finetune.task_types.task import Task

ROWS_SHOWN = 3
FIXED = ("label-variant", "header-empty", "header-double")  # by `check --fix`


def with_findings(planned: Sequence[ResolvedRun]) -> list[ResolvedRun]:
    """The runs with what `check` finds in the user's data. Raises UserError as `require_sound` does."""
    found: dict[int, tuple[DataFinding, ...]] = {}
    for one in planned:
        read = own_data(one.task)
        if read is not None and id(read) not in found:
            found[id(read)] = require_sound(read, one.typed)
    return [replace(one, findings=found.get(id(own_data(one.task)), ())) for one in planned]


def require_sound_data(tasks: Iterable[Task]) -> None:
    """Calls `require_sound` for each task that is on the user's data."""
    for read in {id(read): read for task in tasks if (read := own_data(task)) is not None}.values():
        require_sound(read)


def require_sound(read: OwnData, typed: Sequence[str] = ()) -> tuple[DataFinding, ...]:
    """Errors and warnings with which a run can train; `typed` are the words behind `finetune run` that name the data.

    Raises UserError for the first error with which it cannot, such as a single label.
    """
    parts = parts_of(read)
    refused = findings(parts, [check for check in CHECKS if check.refuses])
    if error := next((finding for finding in refused if finding.severity == "error"), None):
        sheets = next(hint_of(part.table.form) for part in parts if part.file == error.file)
        raise UserError(f"{error.file}: {error.what}{_where(error)}{sheets}", error.remedy)
    said = findings(parts, [check for check in CHECKS if not check.noted])
    return tuple(
        _recorded(finding, parts, typed) for finding in said if finding.severity != "note" and finding.code != LEAK.code
    )


def _where(finding: FileFinding) -> str:
    rows = list(zip(finding.rows, finding.lines, strict=True))
    return f" ({places(rows, most=ROWS_SHOWN, count=finding.count)})" if rows else ""


def _recorded(finding: FileFinding, parts: Sequence[SplitFile], typed: Sequence[str]) -> DataFinding:
    """A finding as a record has it: files without their folders, and the command that shows or fixes its rows."""
    split, what = next(part.split for part in parts if part.file == finding.file), finding.what
    for part in parts:
        what = what.replace(part.file, Path(part.file).name)
    return DataFinding(
        severity=finding.severity, code=finding.code, split=split, what=f"{split}: {what}{_where(finding)}",
        remedy=finding.remedy.replace("`fix`", "`check --fix`"), count=finding.count,
        command=checking(typed, fix=finding.code in FIXED),
    )  # fmt: skip
