"""What an encoder has read in the runs that it came from."""

from collections.abc import Iterator, Mapping
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
from finetune.runs.record import RunRecord
from finetune.runs.run_id import data_fingerprint
from finetune.task_types import registry
from finetune.task_types.options import resolved
from finetune.task_types.prepare import load_splits
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.task import Task

OPTION = "options."  # before the name of an option in the settings of a lineage


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What an earlier run read: a task with options. `run` is its id and `data` the hash of its rows.

    Of a run that is not trained yet both are empty, and its task is `resolved`; of others a record has its name alone.
    """

    task: str
    options: Mapping[str, Any]
    limit: int | None
    run: str = ""
    data: str = ""
    resolved: Task | None = None

    def documents(self, source: Source) -> Iterator[Document] | None:
        """The documents that it read; None where they were rows of a labelled task.

        Raises UserError where they are not found, or have changed since.
        """
        task = self.resolved or self._named()
        if not isinstance(task, TextTask):
            return None
        splits = load_splits(task, source, limit=self.limit)
        if self.run and data_fingerprint({name: loaded.rows for name, loaded in splits.items()}) != self.data:
            raise UserError(f"{self.task} has changed since the run {self.run} read it")
        return chain.from_iterable(loaded.rows for loaded in splits.values())

    def _named(self) -> Task:
        """The task that a record names. Raises UserError where it is not found, or is code."""
        if registry.in_file(self.task):
            raise UserError(f"{self.task} is code, which is not executed because a record names it")
        if not is_data(self.task) and self.task not in registry.available():
            raise UserError(f"{self.task} is not there")
        return resolved(self.task, self.options)[1]


def earlier_runs(planned: ResolvedRun) -> list[Earlier]:
    """What a run's encoder has read: in the runs before it, and in those from which the first one's model came, which
    is named by its folder.

    Runs whose record tells that they were of labelled data are left out.
    """
    found = [_planned(one) for one in planned.before]
    model = Path((*planned.before, planned)[0].recipe.model)
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


def _planned(one: ResolvedRun) -> Earlier:
    recipe = one.recipe
    return Earlier(task=recipe.task, options=recipe.options, limit=recipe.limit, resolved=one.task)


def _recorded(lineage: Lineage, record: RunRecord | None) -> Earlier:
    """What a run read, by its record, else by the name and the settings that a lineage keeps."""
    if record is not None:
        settings = record.recipe
        task, options = str(settings["task"]), settings.get("options") or {}
    else:
        settings, task = lineage.settings, lineage.task
        options = {key.removeprefix(OPTION): value for key, value in settings.items() if key.startswith(OPTION)}
    return Earlier(task=task, options=options, limit=settings.get("limit"), run=lineage.run, data=lineage.data)
