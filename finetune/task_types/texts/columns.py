"""TextType: a text or a pair as input, whatever its labels are."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from finetune.data.messages import shown
from finetune.data.nested_fields import cell_at
from finetune.data.table import Table
from finetune.data.values import as_list, as_text, is_missing
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import LONG, DataType, Evidence, NoRow
from finetune.task_types.row_issues import MISSING_TEXT
from finetune.task_types.texts.guess import text_layout


class TextType(DataType):
    """Data with one text or two a row, in columns of their own."""

    batch_size = 32
    labels_rows = True
    inputs: ClassVar[str] = "text label=label"

    def find(self, evidence: Evidence) -> Layout | None:
        """The text or pair, and a label of whichever type its values make. Raises UserError where there is no text."""
        return text_layout(evidence)

    def guess(self, evidence: Evidence) -> Layout | None:
        """As `find` has it, which minds what the user named; it never gives None."""
        return self.find(evidence)

    def facts(self, row: Any) -> dict[str, str]:
        """The texts and the label."""
        texts = {"text": row.text} | ({} if row.pair is None else {"second text": row.pair})
        label = "none" if row.gold is None else self.shown_label(row.gold)
        return {name: shown(text, LONG) for name, text in texts.items()} | {"label": label}

    def shown_label(self, gold: Any) -> str:
        """A gold that is known, in words."""
        return shown(str(gold), LONG)[1:-1]

    def sequences(
        self, layout: Layout, table: Table, texts: Sequence[str], rows: Sequence[int]
    ) -> tuple[list[str], list[str] | None]:
        """The texts, or both halves of pairs."""
        if len(layout.text) == 1:
            return super().sequences(layout, table, texts, rows)
        firsts, seconds = ([as_text(table.columns[name][row]) for row in rows] for name in layout.text)
        return firsts, seconds

    def truncates(self, layout: Layout) -> bool:
        """A pair is cut."""
        return len(layout.text) > 1

    def inputs_fault(self, layout: Layout, count: int) -> str:
        """Another number of texts than in training."""
        if count == len(layout.text):
            return ""
        texts = {1: "one text", 2: "two texts"}
        return f"has {texts.get(count, f'{count} texts')} where the model reads {texts[len(layout.text)]}"


def texts_of(layout: Layout, values: Mapping[str, Any]) -> tuple[str, str | None]:
    """One text or two. Raises NoRow for one that is missing."""
    for name in layout.text:
        if is_missing(cell_at(values, name)):
            raise NoRow(f"has no text in the column '{name}'", MISSING_TEXT)
    texts = [layout.text_of(values, name) for name in layout.text]
    return texts[0], texts[1] if len(texts) > 1 else None


def labels_of(cell: Any, separator: str) -> list[str]:
    """The labels in one cell of several."""
    found = as_list(cell)
    parts: Sequence[Any] = as_text(cell).split(separator or "\0") if found is None else found
    return list(dict.fromkeys(name for part in parts if (name := as_text(part).strip())))
