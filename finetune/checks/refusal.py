"""Errors in data that stop a run before it starts: the cheap checks of `finetune check`."""

from collections.abc import Iterable

from finetune.checks.all_checks import CHECKS, findings
from finetune.checks.split_data import part_of
from finetune.data.formats.excel import hint_of
from finetune.data.messages import places
from finetune.errors import UserError
from finetune.task_types.own_data import OwnData, own_data
from finetune.task_types.task import Task

ROWS_SHOWN = 3


def require_sound_data(tasks: Iterable[Task]) -> None:
    """Calls `require_sound` for each task that is on the user's data."""
    for read in {id(read): read for task in tasks if (read := own_data(task)) is not None}.values():
        require_sound(read)


def require_sound(read: OwnData) -> None:
    """Raises UserError for the first error in the splits, such as a single label."""
    parts = [part_of(split, read.layout, read.table(path)) for split, path in read.files.items()]
    found = findings(parts, [check for check in CHECKS if check.refuses])
    if error := next((finding for finding in found if finding.severity == "error"), None):
        rows = list(zip(error.rows, error.lines, strict=True))
        where = f" ({places(rows, most=ROWS_SHOWN, count=error.count)})" if rows else ""
        sheets = next(hint_of(part.table.form) for part in parts if part.file == error.file)
        raise UserError(f"{error.file}: {error.what}{where}{sheets}", error.remedy)
