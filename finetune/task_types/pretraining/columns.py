"""Unlabelled text: user data of the type `text`, whose rows are documents."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from finetune.data.documents import Document
from finetune.data.documents.columns import only_text
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType, Evidence
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.pretraining.view import TextView
from finetune.task_types.row_issues import MISSING_TEXT, NoRow
from finetune.task_types.task import Task


class Text(DataType):
    """A column of texts without labels. It is never guessed for a table: only the user knows that none is meant."""

    name = "text"
    answers = "the words that are masked in a text"
    task_class = TextTask
    view = TextView
    inputs = "text"
    max_length = 128

    def find(self, evidence: Evidence) -> Layout | None:
        """The column to train on, if the user named the type. Raises UserError where there are several."""
        if evidence.shape != self.name:
            return None
        chosen = evidence.chosen.get("text") or [only_text(evidence.table.path, evidence.facts)]
        if len(chosen) > 1:
            raise UserError(
                f"{evidence.file}: a text is one column, not {', '.join(chosen)}", f"Name one: text={chosen[0]}"
            )
        return Layout(shape=self.name, text=tuple(chosen), reasons={"text": "the only column of texts"})

    def decisive(self, layout: Layout) -> Layout:
        """Without a column that was found: the texts themselves are known."""
        return layout if layout.reasons.get("text") == "given" else replace(layout, text=())

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> Document:
        """The document in a cell. Raises NoRow for an empty one."""
        (column,) = layout.text
        document = Document.of(name, layout.text_of(values, column))
        if not document.lines:
            raise NoRow(f"has no text in '{column}'", MISSING_TEXT)
        return document

    def labels_in(self, gold: Any) -> tuple[str, ...]:
        return ()

    def task(self, layout: Layout, *, name: str, read: Any = None) -> Task:
        return TextTask(name=name, read=read)

    def value(self, task: Task, layout: Layout, cell: Any, row: Any) -> Any:
        """Predictions of words are not read again from a file."""
        raise UserError("predicted words cannot be scored from a file", "Score the model: finetune evaluate RUN FILE")
