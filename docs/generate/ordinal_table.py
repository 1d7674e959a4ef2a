"""The table of docs/how-to/ordered-labels.md, from results/benchmarks/ordinal.json."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import t as student

from finetune.analysis.form import Cells, markdown_table

WAYS = {"whole": "fine-tuned", "probe": "linear probe"}
OTHERS = {"corn": "steps (CORN)", "regression": "numbers, rounded"}
SCALES = {"quadratic kappa": (100, 1), "mean absolute error": (1, 2), "accuracy": (100, 1)}  # scale, decimals

Scores = Mapping[str, Mapping[str, float]]  # method -> metric -> score


def ordinal_table(measured: dict[str, Any]) -> str:
    """Test scores by way of training, data and rows: means over seeds, and the difference to classes."""
    cells: defaultdict[tuple[str, str, int], dict[str, dict[str, dict[str, float]]]] = defaultdict(dict)
    for key, found in measured["draws"].items():
        way, name, size, seed, method = key.split()
        cells[way, name, int(size)].setdefault(seed, {})[method] = found["scores"]
    lines: list[Cells] = []
    for (way, name, size), seeds in sorted(cells.items(), key=lambda cell: (list(WAYS).index(cell[0][0]), cell[0])):
        whole = [methods for methods in seeds.values() if {"classes", *OTHERS} <= {*methods}]
        for metric in SCALES if whole else ():
            others = [_compared(whole, method, metric) for method in OTHERS]
            classes = _shown(metric, statistics.fmean(one["classes"][metric] for one in whole))
            start = [measured["sets"][name], WAYS[way], f"{size:,}", str(len(whole))]
            lines.append([*(start if metric == next(iter(SCALES)) else [""] * 4), metric, classes, *others])
    head = ["data", "trained", "rows", "seeds", "score", "classes", *OTHERS.values()]
    text = (
        f"Scores of {measured['test_rows']} test rows, {measured['model']}, means over seeds, each with other training "
        "rows; in brackets the difference to classes with its 95 % interval over seeds (Student's t, paired). **Bold**:"
        f" better than classes, and the interval is on one side. {measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"


def _shown(metric: str, value: float, *, sign: str = "") -> str:
    scale, decimals = SCALES[metric]
    return f"{scale * value:{sign}.{decimals}f}"


def _compared(draws: Sequence[Scores], method: str, metric: str) -> str:
    """A method's mean score, and its difference to classes."""
    score = _shown(metric, statistics.fmean(one[method][metric] for one in draws))
    lead = [one[method][metric] - one["classes"][metric] for one in draws]
    mean = statistics.fmean(lead)
    if len(lead) < 2:
        return f"{score} ({_shown(metric, mean, sign='+')})"
    half = float(student.ppf(0.975, len(lead) - 1)) * statistics.stdev(lead) / math.sqrt(len(lead))
    ends = [_shown(metric, mean + side * half, sign="+") for side in (-1, 1)]
    text = f"{score} ({_shown(metric, mean, sign='+')}, {ends[0]} to {ends[1]})"
    better = mean + half < 0 if metric == "mean absolute error" else mean - half > 0
    return f"**{text}**" if better else text
