"""The table of docs/how-to/again.md, from results/benchmarks/keep_labels.json."""

import statistics
from collections.abc import Sequence
from typing import Any

from finetune.analysis.table import Cells, markdown_table
from finetune.data.messages import so_many

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


def _seeds(measured: dict[str, Any], kind: str) -> int:
    return sum(key.split()[0] == kind for key in measured["seeds"])


def _mean(scores: Sequence[float | None]) -> str:
    known = [100 * score for score in scores if score is not None]
    if not known:
        return ""
    around = f" ({min(known):.1f} to {max(known):.1f})" if len(known) > 1 else ""
    return f"{statistics.fmean(known):.1f}{around}"
