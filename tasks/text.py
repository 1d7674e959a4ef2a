"""Unlabelled text: Simple English Wikipedia, a part of English Wikipedia, and the training texts of other tasks.

`sst2-text` and others are for task-adaptive pre-training (Gururangan et al. 2020): each different text of the training
rows of a task, one line each. Rows of dev and test are never read for it.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from finetune.data import Source
from finetune.data.atomic import write_atomically
from finetune.data.documents import filled_lines
from finetune.storage.cache import entry
from finetune.task_types import Rows, Task, TextTask
from finetune.task_types.pretraining.own import CorpusReader
from finetune.tasks import codah, conll, glue, korean, squad, swag


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """Reads a file of text: `TextFile(...)(source, split)` returns its documents."""

    file: str
    folders: tuple[str, ...] = ("text",)

    def __call__(self, source: Source, split: str) -> Rows:
        """The documents of a split, from the folder that the user named. Raises UserError where there is none."""
        return _reader(source.require(self.folders, holds=self.file) / self.file)(source, split)


@dataclass(frozen=True, kw_only=True)
class TaskTexts:
    """Reads the texts of a task's training rows: `TaskTexts(...)(source, split)` returns each as a document.

    They are kept as a file in the cache, since a corpus is read as a stream.
    """

    task: Task

    def __call__(self, source: Source, split: str) -> Rows:
        """The documents of a split. Raises UserError as the task's own reader does."""
        rows = self.task.load(source, self.task.train_split)
        loaded = _reader(self._written(rows))(source, split)
        return replace(loaded, origin=f"{rows.origin} (its texts)")

    def _written(self, rows: Rows) -> Path:
        """The file of texts, one line each, which is written if it is not there."""
        text = "".join(f"{line}\n" for line in dict.fromkeys(_lines(rows)))
        written = text.encode()
        cached = entry("corpora", hashlib.sha256(written).hexdigest())
        file = cached.folder / f"{self.task.name}.txt"

        def write() -> None:
            cached.require_room(len(written), what=f"the texts of {self.task.name} need {len(written):,} bytes")
            write_atomically(file, text)
            cached.seal([file.name])

        cached.ensure(write)
        return file


def _lines(rows: Rows) -> Iterator[str]:
    """The texts of all rows: of a pair both, of a question the question and its context."""
    for row in rows.rows:
        yield from (" ".join(line.split()) for line in filled_lines(row.input))


@lru_cache
def _reader(path: Path) -> CorpusReader:
    return CorpusReader(path=path)


LABELLED = [task for module in (codah, conll, glue, korean, squad, swag) for task in module.TASKS if task.name != "ax"]

TASKS = [
    TextTask(name="simplewiki", read=TextFile(file="simplewiki.txt.xz")),
    TextTask(name="enwiki-part", read=TextFile(file="enwiki-part.txt.xz")),
    *(TextTask(name=f"{task.name}-text", read=TaskTexts(task=task)) for task in LABELLED),
]
