"""What an encoder has read in the runs that it came from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from finetune.data.documents import Document
from finetune.data.files import is_data
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.encoder_runs import lineage_at
from finetune.runs.folder import RunFolder
from finetune.runs.lineage import Lineage
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.run_id import data_fingerprint
from finetune.task_types import registry
from finetune.task_types.options import resolved
from finetune.task_types.prepare import load_splits
from finetune.task_types.text.task import TextTask

OPTION = "options."  # before the name of an option in the settings of a lineage


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What an earlier run read: a task with options. `run` is its id and `data` the hash of its rows, both empty
    where it is not trained yet.
    """

    task: str
    options: Mapping[str, Any]
    limit: int | None
    run: str = ""
    data: str = ""

    def documents(self, source: Source) -> Iterator[Document] | None:
        """The documents that it read; None where they were rows of a labelled task.

        Raises UserError where they are not found, or have changed since.
        """
        if self.run and registry.in_file(self.task):
            raise UserError(f"{self.task} is code, which is not executed because a record names it")
        if not is_data(self.task) and not registry.in_file(self.task) and self.task not in registry.available():
            raise UserError(f"{self.task} is not there")
        _, task = resolved(self.task, self.options)
        if not isinstance(task, TextTask):
            return None
        splits = load_splits(task, source, limit=self.limit)
        if self.run and data_fingerprint({name: loaded.rows for name, loaded in splits.items()}) != self.data:
            raise UserError(f"{self.task} has changed since the run {self.run} read it")
        return chain.from_iterable(loaded.rows for loaded in splits.values())


def earlier_runs(recipe: Recipe, before: Sequence[Recipe] = ()) -> list[Earlier]:
    """What a recipe's encoder has read: in the runs of recipes before it, and in those from which the first one's model
    came, which is named by its folder.

    Runs whose record tells that they were of labelled data are left out.
    """
    found = [Earlier(task=one.task, options=one.options, limit=one.limit) for one in before]
    model = Path((*before, recipe)[0].model)
    run = RunFolder(model)
    folder = run if run.record_file.is_file() else RunFolder(model.parent)
    lineage = lineage_at(folder.model if folder is run else model)
    while lineage is not None:
        record = folder.record()
        if record is None or record.is_pretraining:
            found.append(_recorded(lineage, record))
        lineage = lineage.lineage
        folder = folder if lineage is None else RunFolder.of(folder.path.parents[1], lineage.task, lineage.run)
    return found


def _recorded(lineage: Lineage, record: RunRecord | None) -> Earlier:
    """What a run read, by its record, else by the name and the settings that a lineage keeps."""
    if record is not None:
        settings = record.recipe
        task, options = str(settings["task"]), settings.get("options") or {}
    else:
        settings, task = lineage.settings, lineage.task
        options = {key.removeprefix(OPTION): value for key, value in settings.items() if key.startswith(OPTION)}
    return Earlier(task=task, options=options, limit=settings.get("limit"), run=lineage.run, data=lineage.data)
