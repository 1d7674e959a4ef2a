"""What a command that trains or scores says of the user's data first: errors that stop it, and findings of `check`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from finetune.checks.all_checks import CHECKS, NOTED, STOPPING, findings
from finetune.checks.split_data import FileFinding, SplitFile, part_of
from finetune.data.messages import places
from finetune.errors import UserError
from finetune.runs.record import DataFinding
from finetune.task_types.columns import checking, own_data
from finetune.task_types.own_data import OwnData
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import LEAK
from finetune.task_types.task import Task

ROWS_SHOWN = 3
FIXED = ("label-variant", "header-empty", "header-double")  # by `check --fix`


def with_findings(planned: Sequence[ResolvedRun]) -> list[ResolvedRun]:
    """The runs with what `check` finds in the user's data. Raises UserError as `data_findings` does."""
    found: dict[int, tuple[DataFinding, ...]] = {}
    for run in planned:
        if id(own_data(run.task)) not in found:  # which the runs of a grid share
            found[id(own_data(run.task))] = data_findings(run.task, run.typed)
    return [replace(run, findings=found[id(own_data(run.task))]) for run in planned]


def data_findings(task: Task, typed: Sequence[str] = ()) -> tuple[DataFinding, ...]:
    """Errors and warnings on the user's data with which a task can be trained, or scored by a trained model.

    `typed` are the words behind `finetune run` that name the data; for other tasks there are none. Raises UserError
    for the first error with which it cannot, such as a single label.
    """
    if (read := own_data(task)) is None:
        return ()
    parts = parts_of(read, task.dev_splits)
    refused = findings(parts, STOPPING)
    if error := next((finding for finding in refused if finding.severity == "error"), None):
        raise UserError(f"{error.file}: {error.what}{_where(error)}", _remedy(error))
    said = findings(parts, [check for check in CHECKS if check not in NOTED])
    return tuple(
        _recorded(finding, parts, typed) for finding in said if finding.severity != "note" and finding.code != LEAK.code
    )


def parts_of(read: OwnData, scored: Sequence[str] = ()) -> tuple[SplitFile, ...]:
    """The files of a user's data as the checks see them; for a trained model only those that it is `scored` on, by
    their names.
    """
    files = read.files
    if read.model is not None:
        files = {files[split].name: files[split] for split in scored}
    parts: list[SplitFile] = []
    for split, file in files.items():
        before = [part for part in parts if part.has(part.layout.text) and read.model is None]
        unlabelled = read.unlabelled(split)
        parts.append(
            part_of(split, read.layout, read.table(file), before=before, by_column=read.split, unlabelled=unlabelled)
        )
    return tuple(parts)


def _where(finding: FileFinding) -> str:
    rows = list(zip(finding.rows, finding.lines, strict=True))
    return f" ({places(rows, most=ROWS_SHOWN, count=finding.count)})" if rows else ""


def _remedy(finding: FileFinding) -> str:
    """What to do, outside of `finetune check`."""
    return finding.remedy.replace("`fix`", "`check --fix`")


def _recorded(finding: FileFinding, parts: Sequence[SplitFile], typed: Sequence[str]) -> DataFinding:
    """A finding as a record has it: files without their folders, and the command that shows or fixes its rows."""
    split, what = next(part.split for part in parts if part.file == finding.file), finding.what
    for part in parts:
        what = what.replace(part.file, Path(part.file).name)
    return DataFinding(
        severity=finding.severity, code=finding.code, split=split, what=f"{split}: {what}{_where(finding)}",
        remedy=_remedy(finding), count=finding.count,
        command=checking(typed, fix=finding.code in FIXED),
    )  # fmt: skip
