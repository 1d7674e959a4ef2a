"""A source and the text to write from it: user data of the type `sequence`."""

from collections.abc import Mapping, Sequence
from typing import Any

from finetune.data.characters import same_text
from finetune.data.messages import short, shown, so_many
from finetune.data.nested_fields import cell_at
from finetune.data.values import as_text, is_missing, is_nested
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import TEXT_CHARS_SHOWN, DataType, Evidence
from finetune.task_types.row_issues import MISSING_TEXT, NoRow, unusable
from finetune.task_types.sequence.guess import only_source, require_meant
from finetune.task_types.sequence.row import SequenceRow
from finetune.task_types.sequence.task import SequenceTask
from finetune.task_types.sequence.view import SequenceView
from finetune.task_types.task import Task

NOT_A_TEXT = unusable("not-a-text", "a target is a list or an object", "Write it as one text")


class SourceAndTarget(DataType):
    """A source and its target. It is never guessed: two texts may as well be a pair."""

    name = "sequence"
    answers = "a text that is written from another one"
    task_class = SequenceTask
    view = SequenceView
    inputs = "source target=COLUMN"
    labels_are = "targets"
    units_are = "sources"
    batch_size = 32
    row_issues = (NOT_A_TEXT,)

    def find(self, evidence: Evidence) -> Layout | None:
        """The columns that the user named, if the target is among them. Raises Ambiguous where two columns of texts and
        no label may be either a pair or a source and its target.
        """
        if evidence.shape != self.name:
            require_meant(evidence)
            return None
        target = evidence.chosen.get("label")
        if "label" not in evidence.chosen:
            raise UserError(
                f"{evidence.file}: shape=sequence, and no column is named that is to be written",
                f"Name it: target=COLUMN, one of {', '.join(evidence.columns)}",
            )
        source, why = only_source(evidence, target or ())
        return Layout(shape=self.name, text=(source,), label=tuple(target or ()), reasons=why)

    def guess(self, evidence: Evidence) -> Layout | None:
        return self.find(evidence)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> SequenceRow:
        """The row of a record, without a target where the cell is empty. Raises NoRow for a missing source."""
        (column,) = layout.text
        if is_missing(cell_at(values, column)):
            raise NoRow(f"has no text in the column '{column}'", MISSING_TEXT)
        cell = layout.label_in(values)
        if is_nested(cell) or isinstance(cell, list):
            raise NoRow(f"has {short(cell)} in the column '{layout.label[0]}'; expected a text", NOT_A_TEXT)
        target = None if is_missing(cell) else as_text(cell)
        return SequenceRow(id=name, source=layout.text_of(values, column), target=target)

    def truncates(self, layout: Layout) -> bool:
        return True

    def facts(self, row: SequenceRow) -> dict[str, str]:
        target = "none" if row.target is None else shown(row.target, TEXT_CHARS_SHOWN)[1:-1]
        return {"source": shown(row.source, TEXT_CHARS_SHOWN), "label": target}

    def summary(self, golds: Sequence[str | None]) -> str:
        """The number of targets, and of different ones."""
        some = [gold for gold in golds if gold is not None]
        return f"{so_many(len(some), 'target')}, {len(set(some)):,} different"

    def unit(self, row: SequenceRow) -> str:
        return same_text(row.source)

    def input_names(self, names: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        return [names, ("text",)]

    def task(self, layout: Layout, *, name: str, read: Any = None) -> Task:
        return SequenceTask(name=name, read=read)
