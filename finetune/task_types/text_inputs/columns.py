"""TextType: a text or a pair as input, whatever its labels are."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from finetune.data.messages import short, shown
from finetune.data.table import Table
from finetune.data.values import as_list, as_text, is_missing, is_nested
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import TEXT_CHARS_SHOWN, DataType, Evidence
from finetune.task_types.row_issues import MISSING_TEXT, NoRow
from finetune.task_types.text_inputs.guess import text_layout
from finetune.task_types.text_inputs.label_kinds import RANKING
from finetune.task_types.text_inputs.markers import closing, without_markers
from finetune.task_types.text_inputs.spans import marked_text


class TextType(DataType):
    """Data with one text or two per row, in separate columns."""

    batch_size = 32
    labels_rows = True
    pooled = True
    inputs: ClassVar[str] = "text label=label"

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds the text or pair, and the label, whose values decide the type. Raises UserError without a text."""
        return text_layout(evidence)

    def guess(self, evidence: Evidence) -> Layout | None:
        """The layout from `find`, which uses the columns that the user named; never None."""
        return self.find(evidence)

    def facts(self, row: Any) -> dict[str, str]:
        texts = {"text": row.text} | ({} if row.pair is None else {"second text": row.pair})
        label = "none" if row.gold is None else self.shown_label(row.gold)
        return {name: shown(text, TEXT_CHARS_SHOWN) for name, text in texts.items()} | {"label": label}

    def shown_label(self, gold: Any) -> str:
        """A known label, in words."""
        return shown(str(gold), TEXT_CHARS_SHOWN)[1:-1]

    def sequences(
        self, layout: Layout, table: Table, texts: Sequence[str], rows: Sequence[int]
    ) -> tuple[list[str], list[str] | None]:
        """The texts, or both texts of pairs; a marker is a token, in whose place is a comma."""
        if layout.markers:
            return [without_markers(texts[row], layout.markers, ",") for row in rows], None
        if len(layout.text) == 1:
            return super().sequences(layout, table, texts, rows)
        firsts, seconds = ([as_text(table.columns[name][row]) for row in rows] for name in layout.text)
        return firsts, seconds

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The rows of which one text of a pair is empty."""
        found: dict[str, Sequence[int]] = {}
        for name in layout.text if len(layout.text) == 2 and layout.shape != RANKING else ():
            other = next(one for one in layout.text if one != name)
            cells = zip(*(table.columns.get(one, ()) for one in (name, other)), strict=False)
            empty = [index for index, (a, b) in enumerate(cells) if is_missing(a) and not is_missing(b)]
            found |= {f"texts of the column '{name}' that are empty: read so": empty} if empty else {}
        return found

    def needed(self, layout: Layout) -> tuple[str, ...]:
        """The only column of texts; of a pair, or of joined columns, any."""
        return layout.text if len(layout.text_columns) == 1 or layout.shape == RANKING else ()

    def spoiled(self, layout: Layout, values: Mapping[str, Any]) -> str:
        return "without a text" if all(is_missing(values.get(name)) for name in layout.text_columns) else ""

    def truncates(self, layout: Layout) -> bool:
        """Whether it is a pair, or a text with two spans: both are truncated."""
        return len(layout.text) > 1 or bool(layout.markers)

    def compared(self, row: Any, markers: tuple[str, ...] = ()) -> str:
        """The text, without the markers of spans."""
        text = super().compared(row)
        return without_markers(text, markers) if markers else text

    def input_names(self, names: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """Those of transformers too; first those of a pair."""
        return [names, ("text", "text_pair"), names[:1]]

    def example(self, layout: Layout | None) -> str:
        if layout is not None and layout.markers:
            one, two = layout.markers
            return f'"{one}Ann{closing(one)} saw {two}Bo{closing(two)}"'
        return '"a text"' if layout is None or len(layout.text) == 1 else '"a text", "another text"'

    def inputs_fault(self, layout: Layout, count: int) -> str:
        """The reason where the number of texts differs from that in training."""
        if count == len(layout.text):
            return ""
        texts = {1: "one text", 2: "two texts"}
        return f"has {texts.get(count, f'{count} texts')}, and the model reads {texts[len(layout.text)]}"


def texts_of(layout: Layout, values: Mapping[str, Any]) -> tuple[str, str | None]:
    """The text, with its spans marked, or both texts of a pair, of which one may be empty.

    Raises NoRow for a missing text, and a missing span.
    """
    texts = [layout.text_of(values, name) for name in layout.text]
    if not (all(texts) if layout.shape == RANKING else any(texts)):
        missing = next(name for name, text in zip(layout.text, texts, strict=True) if not text)
        raise NoRow(f"has no text in the column '{missing}'", MISSING_TEXT)
    if layout.markers:
        return marked_text(layout, values, texts[0]), None
    return texts[0], texts[1] if len(texts) > 1 else None


def label_cell(layout: Layout, values: Mapping[str, Any]) -> Any:
    """The cell of the label. Raises NoRow for an object, and for a list of lists or objects."""
    cell = layout.label_in(values)
    if is_nested(cell):
        raise NoRow(f"has {short(cell)} in the column '{layout.label[0]}'; expected labels")
    return cell


def labels_in_cell(cell: Any, separator: str) -> list[str]:
    """The labels in a multi-label cell."""
    found = as_list(cell)
    parts: Sequence[Any] = as_text(cell).split(separator or "\0") if found is None else found
    return list(dict.fromkeys(name for part in parts if (name := as_text(part).strip())))
