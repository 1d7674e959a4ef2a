"""The tables of docs/how-to/again.md and robust.md, from results/benchmarks/keep_labels.json and robust.json."""

import statistics
from collections.abc import Sequence
from typing import Any

from finetune.commands.table.files import Cells, markdown_table
from finetune.data.messages import so_many
from finetune.inference.robust.kinds import KINDS
from finetune.metrics.row_means import wilson

SCORED = ("old dev", "new dev", "added label")


def keep_labels_table(measured: dict[str, Any]) -> str:
    """Scores on the rows of the old labels, on those of all, and F1 of the added label: means over seeds."""
    kinds = dict.fromkeys(key.split()[0] for key in measured["seeds"])
    lines: list[Cells] = []
    for kind in kinds:
        seeds = [found for key, found in measured["seeds"].items() if key.split()[0] == kind]
        for way in seeds[0]:
            given = [found[way] for found in seeds]
            rows = f"{given[0]['rows']:,}"
            lines.append([kind, way, rows, *(_mean([one.get(name) for one in given]) for name in SCORED)])
    sizes, count = measured["rows_a_label"], min(_seeds(measured, kind) for kind in kinds)
    text = (
        f"Means and ranges of {so_many(count, 'seed')}, {measured['model']}, last epoch; {sizes['scored']} rows of "
        "each label are scored: accuracy of texts, F1 of entities, and F1 of the added label. "
        f"{measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(['data', 'trained', 'rows', *SCORED], lines)}\n\n{text}"


def robust_table(measured: dict[str, Any]) -> str:
    """The share of predictions that flip by kind of change and task, with Wilson's interval."""
    tasks = measured["tasks"]
    lines: list[Cells] = [
        [kind.name, *(_flipped(one["kinds"].get(kind.name)) for one in tasks.values())] for kind in KINDS
    ]
    scored = "; ".join(
        f"{name}: {one['rows']:,} rows, {one['metric']} {100 * one['score']:.1f}" for name, one in tasks.items()
    )
    text = (
        f"Percent of the changed rows, with the 95 % interval and the number of rows. {measured['model']}, trained for "
        f"two epochs on some rows, and its score on dev ({scored}). {measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(['change', *tasks], lines)}\n\n{text}"


def _seeds(measured: dict[str, Any], kind: str) -> int:
    return sum(key.split()[0] == kind for key in measured["seeds"])


def _mean(scores: Sequence[float | None]) -> str:
    known = [100 * score for score in scores if score is not None]
    if not known:
        return ""
    around = f" ({min(known):.1f} to {max(known):.1f})" if len(known) > 1 else ""
    return f"{statistics.fmean(known):.1f}{around}"


def _flipped(found: Sequence[int] | None) -> str:
    if not found:
        return ""
    rows, flips = found
    low, high = wilson(flips, of=rows)
    return f"{100 * flips / rows:.1f} ({100 * low:.1f} to {100 * high:.1f}; {rows})"
