"""What keeps a run on data from being started: the errors of the cheap checks, as `finetune check` words them."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from finetune.checks import across_splits, answers_and_choices, file_format, labels
from finetune.checks.finding import Finding
from finetune.checks.split_data import Check, part_of
from finetune.data.messages import places
from finetune.data.reading import table_of
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.types import layout_from

SHOWN = 3  # row numbers
CHECKS: tuple[Check, ...] = (
    labels.missing_labels,
    file_format.unreadable,
    file_format.unusable,
    labels.balance,
    answers_and_choices.answers,
)


def require_sound(layout: Layout, files: Mapping[str, Path], encoding: str = "") -> None:
    """Raises UserError for the first error in the files of the splits, such as a single label."""
    stats = {split: (path, path.stat().st_mtime_ns, path.stat().st_size) for split, path in files.items()}
    columns = json.dumps({**asdict(layout), "reasons": {}})
    if error := _first_error(tuple(stats.items()), encoding, columns):
        rows = list(zip(error.rows, error.lines, strict=True))
        where = f" ({places(rows, most=SHOWN, count=error.count)})" if rows else ""
        raise UserError(f"{error.file}: {error.what}{where}", error.remedy)


@lru_cache(maxsize=4)  # a command resolves its recipe several times
def _first_error(files: tuple[tuple[str, tuple[Path, int, int]], ...], encoding: str, columns: str) -> Finding | None:
    layout = layout_from(json.loads(columns))
    parts = [part_of(split, layout, table_of(path, encoding)) for split, (path, *_) in files]
    whole = [part for part in parts if part.has(layout.text)]
    findings = [
        *across_splits.missing_columns(parts),
        *(finding for part in whole for check in CHECKS for finding in check(part)),
        *across_splits.unseen_labels(whole),
    ]
    return next((finding for finding in findings if finding.severity == "error"), None)
