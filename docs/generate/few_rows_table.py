"""The table of docs/how-to/few-rows.md, from results/benchmarks/few_rows.json and that of SetFit."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import t as student

from finetune.commands.table.files import Cells, markdown_table

OTHERS = {  # column: names of the method in records
    "TF-IDF": ("tfidf-logistic", "tfidf-ridge", "most-frequent-tag"),
    "linear probe": ("linear-probe",),
    "SetFit": ("SetFit",),
}


def few_rows_table(measured: dict[str, Any], setfit: dict[str, Any]) -> str:
    """Test scores by rows a class: means over draws, and the lead of the default run over each other method."""
    cells: defaultdict[tuple[str, int], list[dict[str, float]]] = defaultdict(list)
    metrics = {}
    for key, found in measured["draws"].items():
        name, size, _ = key.split()
        own = {"SetFit": setfit["draws"][key]["score"]} if key in setfit["draws"] else {}
        cells[name, int(size)].append(found["scores"] | own)
        metrics[name] = found["metric"]
    sets = measured["sets"]
    lines: list[Cells] = []
    for name, size in sorted(cells, key=lambda cell: (list(sets).index(cell[0]), cell[1])):
        draws = cells[name, size]
        default = f"{100 * statistics.fmean(scores['finetune'] for scores in draws):.1f}"
        others = [_compared(draws, methods) for methods in OTHERS.values()]
        lines.append([f"{name}: {sets[name]}", metrics[name], f"{size:,}", str(len(draws)), default, *others])
    head = ["data", "score", "rows a class", "draws", "default", *OTHERS]
    text = (
        f"Scores of {measured['test_rows']} test rows, {measured['model']}, means over draws of the training rows; in "
        "brackets the lead of the default, with its 95 % interval over draws (Student's t). **Bold**: the default is "
        "behind, and the interval is below zero. For words with tags, the column TF-IDF has each word's most frequent "
        f"tag. {measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"


def _compared(every: Sequence[Mapping[str, float]], methods: Sequence[str]) -> str:
    """The mean score of a method over the draws that have it, and the lead of the default there; empty without any."""
    name = next((method for method in methods if any(method in scores for scores in every)), None)
    if name is None:
        return ""
    draws = [scores for scores in every if name in scores]
    score = f"{100 * statistics.fmean(scores[name] for scores in draws):.1f}"
    lead = [100 * (scores["finetune"] - scores[name]) for scores in draws]
    mean, some = statistics.fmean(lead), "" if len(draws) == len(every) else f"; {len(draws)} of the draws"
    if len(lead) < 2:
        return f"{score} ({mean:+.1f}{some})"
    half = float(student.ppf(0.975, len(lead) - 1)) * statistics.stdev(lead) / math.sqrt(len(lead))
    text = f"{score} ({mean:+.1f}, {mean - half:+.1f} to {mean + half:+.1f}{some})"
    return f"**{text}**" if mean + half < 0 else text
