"""The first rows of data as they were read, the label's values, and the columns that could be the label instead."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from finetune.data.column_types import SPLITS
from finetune.data.messages import shown
from finetune.data.rows import Row
from finetune.data.table import Table
from finetune.data.values import as_text, is_missing
from finetune.task_types.choice.task import ChoiceRow
from finetune.task_types.columns import Layout
from finetune.task_types.row_builder import NoRow, gold_of, rows_of
from finetune.task_types.span.task import SpanRow
from finetune.task_types.tagging.task import TaggingRow

ROWS = 2
VALUES = 12  # of a label
LONG = 100  # characters of a text
SEEN = 20_000  # cells of a column that may name splits
COUNTED = 200_000  # rows of which labels are counted


def first_rows(layout: Layout, table: Table) -> Iterator[str]:
    """`row 1: text = 'A fine film.', label = good`, then the label's values with counts, then rival columns."""
    good = ((index, row) for index, row in rows_of(layout, table) if not isinstance(row, NoRow))
    for index, row in islice(good, ROWS):
        facts = ", ".join(f"{name} = {value}" for name, value in _facts(row).items())
        yield f"row {table.rows[index]}: {facts}"
    if layout.label:
        yield f"{_name(layout)}: {_values(layout, table)}"
    for name in split_columns(layout, table):
        yield f"not used: the column {shown(name)} says which rows are for training and which are not"
    for rival in layout.rivals:
        yield f"not the label, but could be: {rival}"


def split_columns(layout: Layout, table: Table) -> list[str]:
    """Columns that name a split in each row; rows of all of them are trained on."""
    found = []
    for name, cells in table.columns.items():
        if name in (*layout.text, *layout.label, layout.group):
            continue
        values = {as_text(cell).strip().lower() for cell in islice(cells, SEEN) if not is_missing(cell)}
        if len(values) > 1 and values <= SPLITS:
            found.append(name)
    return found


def _facts(row: Row) -> dict[str, str]:
    """What the model reads of a row and what it is to answer."""
    label = gold_of(row)
    match row:
        case TaggingRow():
            text = row.text or " ".join(row.words)
            pairs = zip(row.words, row.gold or (), strict=False)
            tags = " ".join(f"{word}/{tag}" for word, tag in pairs if tag != "O") or "no entity"
            return {"words": shown(text, LONG), "tags": "none" if row.gold is None else shown(tags, LONG)}
        case SpanRow():
            texts = {"question": row.question, "context": row.context}
            label = " | ".join(label) or "no answer" if label is not None else None
        case ChoiceRow():
            texts = {"context": row.context} | {f"choice {n}": text for n, text in enumerate(row.choices, start=1)}
            label = None if label is None else f"choice {label + 1}"
        case _:
            texts = {"text": row.text} | ({} if row.pair is None else {"second text": row.pair})
    return {name: shown(text, LONG) for name, text in texts.items()} | {"label": _label(label)}


def _label(label: Any) -> str:
    if label is None:
        return "none"
    if isinstance(label, tuple):
        return ", ".join(label) or "no label"
    return f"{label:g}" if isinstance(label, float) else shown(str(label), LONG)[1:-1]


def _name(layout: Layout) -> str:
    return {"tagging": "entities", "span": "answers", "choice": "answers", "regression": "numbers"}.get(
        layout.shape, "labels"
    )


def _values(layout: Layout, table: Table) -> str:
    """How often each label comes, the most frequent ones first; of numbers the range."""
    golds = [gold_of(row) for _, row in islice(rows_of(layout, table), COUNTED) if not isinstance(row, NoRow)]
    known = [gold for gold in golds if gold is not None]
    if layout.shape == "regression" and known:
        return (
            f"{min(known):g} to {max(known):g}, mean {sum(known) / len(known):.4g}, {len(set(known)):,} different ones"
        )
    if layout.shape == "span":
        return f"{sum(map(bool, known)):,} questions with an answer, {sum(not gold for gold in known):,} without"
    counts: Counter[str] = Counter()
    for gold in known:
        if layout.shape == "tagging":
            counts.update(tag[2:] for tag in gold if tag[:2] in ("B-", "S-", "U-"))
        elif isinstance(gold, tuple):
            counts.update(gold or ("no label",))
        else:
            counts[f"choice {gold + 1}" if layout.shape == "choice" else str(gold)] += 1
    listed = ", ".join(f"{shown(name)[1:-1]} {count:,}" for name, count in counts.most_common(VALUES))
    more = f", and {len(counts) - VALUES:,} more" if len(counts) > VALUES else ""
    part = f" (of the first {COUNTED:,} rows)" if len(table) > COUNTED else ""
    return (listed or "none") + more + part
