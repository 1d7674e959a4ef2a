"""All checks of data in their order, the errors that stop a run, and the findings that its record keeps.

Checks of tokens also need the encoder's tokenizer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from finetune.checks import across_splits, cells, labels, tokens
from finetune.checks.split_data import FileFinding, SplitFile, part_of
from finetune.data.issues import READING, SEVERITIES, Finding, Issue
from finetune.data.messages import places
from finetune.errors import UserError
from finetune.runs.record import DataFinding
from finetune.task_types import columns
from finetune.task_types.columns import checking, own_data
from finetune.task_types.findings import SHARED
from finetune.task_types.own_data import OwnData
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import LEAK
from finetune.task_types.task import Task
from finetune.task_types.types import own_types

ROWS_SHOWN = 3
FIXED = ("label-variant", "header-empty", "header-double")  # by `check --fix`
Check = Callable[[SplitFile], Iterable[Finding]]


def of_type(part: SplitFile) -> Iterable[Finding]:
    """The findings of the task type: label balance, tags, answer spans, choices."""
    return part.kind.findings(part)


CHECKS: tuple[Check, ...] = (
    *(cells.encoding, cells.header_names, cells.lost_rows, cells.double_ids),
    *(cells.named_splits, cells.odd_texts),
    *(labels.unlabelled_test, labels.missing_labels, labels.blank_labels, labels.spellings, labels.small_classes),
    *(of_type, labels.leaking_columns),
    *(across_splits.unseen_labels, across_splits.group_leaks, across_splits.text_leaks, across_splits.wrong_splits),
    across_splits.repeated,
)
# At the errors of these a run stops.
STOPPING: tuple[Check, ...] = (
    *(cells.lost_rows, labels.missing_labels, of_type),
    *(across_splits.unseen_labels, across_splits.wrong_splits),
)
# A run reports the findings of these elsewhere: in a note on rows that are left out, or in its diagnosis.
NOTED: tuple[Check, ...] = (
    *(cells.encoding, cells.lost_rows, labels.missing_labels, labels.blank_labels, labels.small_classes),
    *(of_type, across_splits.text_leaks, across_splits.repeated),
)


def findings(parts: Sequence[SplitFile], checks: Iterable[Check] = CHECKS) -> list[FileFinding]:
    """Findings of the checks over all splits, most severe first; a file without a column of the texts has only that."""
    missing = [part.placed(finding) for part in parts for finding in across_splits.missing_columns(part)]
    readable = [part for part in parts if part.has(part.layout.text)]
    return worst_first(
        [*missing, *(part.placed(finding) for check in checks for part in readable for finding in check(part))]
    )


def worst_first(unsorted: Iterable[FileFinding]) -> list[FileFinding]:
    """Findings sorted by severity, errors first."""
    return sorted(unsorted, key=lambda finding: SEVERITIES.index(finding.severity))


def every_issue() -> list[Issue]:
    """Every issue that a check can find: declared by the files of checks, by reading and by task types."""
    of_types = [issue for kind in own_types().values() for issue in kind.issues]
    names = [value for file in (cells, labels, across_splits) for value in vars(file).values()]
    declared = [*READING, *columns.SHARED, *SHARED, *of_types, *names, *cells.ODD_TEXTS, *vars(tokens).values()]
    return list(dict.fromkeys(value for value in declared if isinstance(value, Issue)))


def with_findings(planned: Sequence[ResolvedRun]) -> list[ResolvedRun]:
    """The runs with the findings on the user's data. Raises UserError as `data_findings` does."""
    by_data: dict[int, tuple[DataFinding, ...]] = {}
    for run in planned:
        data = id(own_data(run.task))  # the runs of a grid share it
        if data not in by_data:
            by_data[data] = data_findings(run.task, run.typed)
    return [replace(run, findings=by_data[id(own_data(run.task))]) for run in planned]


def data_findings(task: Task, typed: Sequence[str] = ()) -> tuple[DataFinding, ...]:
    """Errors and warnings on the user's data that do not stop a run, or the scoring of a trained model.

    `typed` are the words after `finetune run` that name the data. Raises UserError for the first error that stops it,
    such as a single label. Empty for a task without data of a user.
    """
    if (read := own_data(task)) is None:
        return ()
    parts = parts_of(read, task.dev_splits)
    refused = findings(parts, STOPPING)
    if error := next((finding for finding in refused if finding.severity == "error"), None):
        raise UserError(f"{error.file}: {error.what}{_where(error)}", _remedy(error))
    others = findings(parts, [check for check in CHECKS if check not in NOTED])
    serious = (finding for finding in others if finding.severity != "note" and finding.code != LEAK.code)
    return tuple(_recorded(finding, parts, typed) for finding in serious)


def parts_of(read: OwnData, scored: Sequence[str] = ()) -> tuple[SplitFile, ...]:
    """The files of a user's data as the checks see them.

    For a trained model they are the files that it is `scored` on, by their names.
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
    """The remedy, for commands other than `finetune check`."""
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
