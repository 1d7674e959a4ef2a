"""What keeps a run on data from being started: the errors of the cheap checks, as `finetune check` words them."""

import json
from collections.abc import Sequence

from finetune.checks.all_checks import CHECKS, findings
from finetune.checks.split_data import part_of
from finetune.data.messages import places
from finetune.data.reading import table_of
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.task_types.options import resolved
from finetune.task_types.own_data import OwnData

SHOWN = 3  # row numbers


def require_sound_data(recipes: Sequence[Recipe]) -> None:
    """Raises UserError as `require_sound` does, for the data of those recipes that train on a user's own."""
    for recipe in {json.dumps([one.task, one.options], sort_keys=True): one for one in recipes}.values():
        _, task = resolved(recipe.task, recipe.options)
        if isinstance(read := getattr(task, "read", None), OwnData):
            require_sound(read)


def require_sound(read: OwnData) -> None:
    """Raises UserError for the first error in the files of the splits, such as a single label."""
    parts = [part_of(split, read.layout, table_of(path, read.encoding)) for split, path in read.files.items()]
    found = findings(parts, [check for check in CHECKS if check.refuses])
    if error := next((finding for finding in found if finding.severity == "error"), None):
        rows = list(zip(error.rows, error.lines, strict=True))
        where = f" ({places(rows, most=SHOWN, count=error.count)})" if rows else ""
        raise UserError(f"{error.file}: {error.what}{where}", error.remedy)
