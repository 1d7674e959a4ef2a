"""The table of docs/how-to/few-rows.md, from results/benchmarks/few_rows.json and that of SetFit."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import t as student

from finetune.analysis.table import Cells, markdown_table

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
        "tag. The linear probe here read the mean of a text's tokens as it was, not at length 1. "
        f"{measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"


def few_labels_table(few: dict[str, Any], measured: dict[str, Any], setfit: dict[str, Any]) -> str:
    """Test scores of the preset by rows a class, its lead over each other method, and CPU seconds next to SetFit's."""
    cells: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for key in few["draws"]:
        name, size, _ = key.split()
        cells[name, int(size)].append(key)
    sets, lines = list(measured["sets"]), list[Cells]()
    for name, size in sorted(cells, key=lambda cell: (sets.index(cell[0]), cell[1])):
        row = _few_labels_cells(cells[name, size], few["draws"], measured["draws"], setfit["draws"])
        lines.append([f"{name}: {measured['sets'][name]}", f"{size:,}", *row])
    head = ["data", "rows a class", "draws", "`few-labels`", "default", *OTHERS, "CPU s", "SetFit's", "peak MB"]
    text = (
        "Macro F1 of 300 test rows, minilm, means over draws; in brackets the lead of the preset, with its 95 % "
        "interval over draws (Student's t). **Bold**: the preset is behind, the interval below zero. CPU seconds "
        "of training and fitting the head, those of SetFit on the same processor with less load from other work; peak "
        f"memory of a process of many draws. {few['cpu']['name']}, {few['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"


def _few_labels_cells(
    keys: Sequence[str], few: dict[str, Any], measured: dict[str, Any], setfit: dict[str, Any]
) -> Cells:
    """The cells of a set and size behind these."""
    draws = []
    for key in keys:
        known = dict(measured[key]["scores"]) if key in measured else {}
        default = {"default": known.pop("finetune")} if known else {}
        of_setfit = {"SetFit": setfit[key]["score"]} if key in setfit else {}
        probe = {name: few[key][name] for name in OTHERS["linear probe"]}
        draws.append({**known, **default, **of_setfit, **probe, "finetune": few[key]["score"]})
    theirs = [setfit[key]["cpu_seconds"] for key in keys if key in setfit]
    return [
        str(len(keys)), f"{100 * statistics.fmean(scores['finetune'] for scores in draws):.1f}",
        *(_compared(draws, methods) for methods in [("default",), *OTHERS.values()]),
        f"{statistics.fmean(few[key]['cpu_seconds'] for key in keys):.1f}",
        f"{statistics.fmean(theirs):.1f}" if theirs else "",
        f"{max(few[key]['peak_memory_bytes'] for key in keys) / 1e6:,.0f}",
    ]  # fmt: skip


def _compared(every: Sequence[Mapping[str, float]], methods: Sequence[str]) -> str:
    """The mean score of a method over the draws that have it, and the lead of the first there; empty without any."""
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
