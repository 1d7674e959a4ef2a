"""How the user's data was read: the meaning of columns."""

from finetune.cli.fitted_table import Column, FittedTable
from finetune.task_types.columns import Layout


def layout_table(layout: Layout) -> FittedTable:
    """The meaning of each column, and why it was inferred."""
    given = {
        "shape": layout.shape,
        "text": ", ".join(layout.text),
        "spans": ", ".join(layout.marked or layout.markers) + (f" (ends {ends})" if (ends := layout.span_ends) else ""),
        "label": ", ".join(layout.label) or "none was found",
        "order": " < ".join(layout.order),
        "levels": layout.levels,
        "id": layout.id,
        "group": layout.group,
    }
    rows = [(name, value, layout.reasons.get(name, "")) for name, value in given.items() if value]
    words = Column(name="", words=True)
    return FittedTable(title="layout", columns=[Column(name=""), words, words], rows=rows, headed=False)
