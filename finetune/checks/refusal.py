"""What keeps a run on data from being started: the errors of the cheap checks, as `finetune check` words them."""

from collections.abc import Iterable, Sequence

from finetune.checks import across_splits, answers_and_choices, file_format, labels
from finetune.checks.finding import Finding
from finetune.checks.split_data import Check, Part, part_of
from finetune.data.messages import places
from finetune.data.reading import table_of
from finetune.errors import UserError
from finetune.task_types.own_data import OwnData, own_data
from finetune.task_types.task import Task

SHOWN = 3  # row numbers
CHECKS: tuple[Check, ...] = (
    labels.missing_labels,
    file_format.unreadable,
    file_format.unusable,
    labels.balance,
    answers_and_choices.answers,
)


def require_sound_data(tasks: Iterable[Task]) -> None:
    """Raises UserError as `require_sound` does, for those of the tasks that are of a user's own data."""
    for read in {id(read): read for task in tasks if (read := own_data(task)) is not None}.values():
        require_sound(read)


def require_sound(read: OwnData) -> None:
    """Raises UserError for the first error in the files of the splits, such as a single label."""
    parts = [part_of(split, read.layout, table_of(path, read.encoding)) for split, path in read.files.items()]
    if error := _first_error(parts):
        rows = list(zip(error.rows, error.lines, strict=True))
        where = f" ({places(rows, most=SHOWN, count=error.count)})" if rows else ""
        raise UserError(f"{error.file}: {error.what}{where}", error.remedy)


def _first_error(parts: Sequence[Part]) -> Finding | None:
    whole = [part for part in parts if part.has(part.layout.text)]
    findings = [
        *across_splits.missing_columns(parts),
        *(finding for part in whole for check in CHECKS for finding in check(part)),
        *across_splits.unseen_labels(whole),
    ]
    return next((finding for finding in findings if finding.severity == "error"), None)
