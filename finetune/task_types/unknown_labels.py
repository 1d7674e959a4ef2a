"""Rows of other data whose label a model cannot predict, such as a misspelled one: left out of scores, and noted."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from finetune.data.messages import noun, places, shown, so_many
from finetune.data.rows import Row
from finetune.task_types.columns import Layout
from finetune.task_types.task import Task
from finetune.task_types.types import named_type

LABELS_SHOWN = 3  # labels and rows in a note


@dataclass(kw_only=True)
class UnknownLabels:
    """Collects the rows whose label the model does not know."""

    task: Task
    layout: Layout
    names: dict[str, None] = field(default_factory=dict)
    rows: list[tuple[int, int]] = field(default_factory=list)

    def adds(self, row: Row, place: tuple[int, int]) -> bool:
        """Whether the row has such a label; then it is collected with its place, (row, line)."""
        label = self.task.labels_of([row])[0].value
        if label is None or (self.task.fits(label, row) and not self.task.fault(row)):
            return False
        self.rows.append(place)
        found = named_type(self.layout.shape).labels_in(row.gold)
        self.names.update(dict.fromkeys(name for name in found if name not in self.layout.labels))
        return True

    def notes(self) -> Sequence[str]:
        """`1 row with the label 'goood', unknown to the model (row 41)`; none without such rows."""
        if not self.rows:
            return []
        names, more = list(self.names), len(self.names) - LABELS_SHOWN
        listed = " ".join([", ".join(map(shown, names[:LABELS_SHOWN])), f"and {more:,} more"][: 1 + (more > 0)])
        labels = f"the {noun(len(names), 'label')} {listed}," if names else "a label"
        return [
            f"{so_many(len(self.rows))} with {labels} unknown to the model ({places(self.rows, most=LABELS_SHOWN)})"
        ]
