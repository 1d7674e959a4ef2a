"""Which labels of the user's data are left out as mistakes, and `keep=LABEL`, which keeps them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from finetune.data.table import Table
from finetune.errors import UserError, nearest
from finetune.task_types.columns import Layout
from finetune.task_types.types import named_type

EVERY = "all"


def with_mistakes(layout: Layout, tables: Iterable[Table], keep: str) -> Layout:
    """The layout with the labels of all splits that look like mistakes, but for those to keep (`a,b`, or `all`).

    Raises UserError for a label to keep that is in no row.
    """
    kind = named_type(layout.shape)
    if not (kind.named and kind.labels_rows and len(layout.label) == 1):
        return layout
    counts = Counter[str]()
    for table in tables:
        for cell, count in Counter(map(_hashable, table.columns.get(layout.label[0], ()))).items():
            counts.update({} if layout.lacks(cell) else dict.fromkeys(kind.names(layout, cell), count))
    kept = [keep] if keep in counts else [name.strip() for name in keep.split(",") if name.strip()]
    if missing := [name for name in kept if name not in counts and name != EVERY]:
        known = nearest(missing[0], list(counts))
        raise UserError(f"keep={keep}: no row has the label '{missing[0]}'", f"{known}Name labels of the data")
    found = {} if EVERY in kept else kind.mistakes(layout, counts)
    mistakes = {name: why for name, why in found.items() if name not in kept}
    if not mistakes:
        return layout
    reasons = {**layout.reasons, "shape": f"{layout.reasons.get('shape', '')}, {len(mistakes)} left out"}
    labels = tuple(name for name in layout.labels if name not in mistakes)
    return replace(layout, mistakes=mistakes, labels=labels, reasons=reasons)


def _hashable(cell: object) -> object:
    return None if isinstance(cell, list | dict) else cell
