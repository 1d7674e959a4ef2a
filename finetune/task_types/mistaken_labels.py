"""Which labels of the user's data are left out: mistakes, but for those of `keep=LABEL`, and those of `drop=LABEL`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from finetune.data.messages import shown, so_many
from finetune.data.table import Table
from finetune.data.values import as_text
from finetune.errors import UserError, nearest
from finetune.task_types.columns import DROPPED, Layout
from finetune.task_types.types import named_type

EVERY = "all"
VALUES = "different value"


def with_mistakes(layout: Layout, tables: Sequence[Table], keep: str, drop: str) -> Layout:
    """The layout with the labels of all splits that look like mistakes, but for those to keep (`a,b`, or `all`), and
    with those to drop.

    Raises UserError for a label to keep that nothing is wrong with, and for one that is in no row.
    """
    kind = named_type(layout.shape)
    if not (kind.droppable and len(layout.label) == 1):
        if keep or drop:
            given = "keep" if keep else "drop"
            raise UserError(f"{given}= names classes, and this data has shape={layout.shape}", "Leave it out")
        return layout
    counts = Counter[str]()
    for table in tables:
        cells = (None if isinstance(cell, list | dict) else cell for cell in table.columns.get(layout.label[0], ()))
        for cell, count in Counter(cells).items():
            counts.update({} if layout.lacks(cell) else dict.fromkeys(kind.label_names(layout, cell), count))
    texts = (as_text(cell) for table in tables for name in layout.text for cell in table.columns.get(name, ()))
    mistakes, doubts = kind.unlike(layout, counts, texts)
    dropped = _named("drop", drop, counts)
    if both := set(dropped) & set(parted(keep, counts)):
        raise UserError(f"keep= and drop= both name the label {shown(min(both))}", "Leave one of them out")
    kept = _kept(keep, counts, mistakes | doubts | dict.fromkeys(dropped, ""))
    mistakes = {name: why for name, why in mistakes.items() if name not in kept} | dict.fromkeys(dropped, DROPPED)
    doubts = {name: why for name, why in doubts.items() if name not in kept and name not in mistakes}
    labels = tuple(name for name in layout.labels if name not in mistakes)
    reasons = dict(layout.reasons)
    if VALUES in reasons.get("shape", ""):  # of the labels that are trained on
        reasons["shape"] = so_many(len(labels), VALUES) + f", {len(mistakes)} left out" * bool(mistakes)
    return replace(layout, mistakes=mistakes, doubts=doubts, labels=labels, reasons=reasons)


def _kept(keep: str, counts: Mapping[str, int], found: Mapping[str, str]) -> Sequence[str]:
    """The labels to keep. Raises UserError for one that would be trained on anyway."""
    if keep == EVERY and EVERY not in found:
        return list(found)
    names = _named("keep", keep, counts)
    if usual := [name for name in names if name not in found]:
        listed = f"Those that may be mistakes are {', '.join(map(shown, list(found)[:5]))}" if found else ""
        raise UserError(
            f"keep={keep}: {shown(usual[0])} is not left out",
            nearest(usual[0], list(found)) + (listed or "Leave it out"),
        )
    return names


def _named(setting: str, text: str, counts: Mapping[str, int]) -> list[str]:
    """The labels in `a,b`, which may have commas themselves. Raises UserError for one that no row has."""
    names = list(parted(text, counts))
    if missing := [name for name in names if name not in counts]:
        known = nearest(missing[0], list(counts))
        raise UserError(
            f"{setting}={text}: no row has the label {shown(missing[0])}", f"{known}Name labels of the data"
        )
    return names


def parted(text: str, counts: Mapping[str, int]) -> Iterator[str]:
    """The parts between commas, of which the most that make a label are one name."""
    parts = text.split(",")
    while parts:
        joined = {end: ",".join(parts[:end]).strip() for end in range(len(parts), 0, -1)}
        end = next((end for end, name in joined.items() if name in counts), 1)
        if joined[end]:
            yield joined[end]
        parts = parts[end:]
