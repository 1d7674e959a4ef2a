"""The table of docs/how-to/ranking.md, from results/benchmarks/ranking.json."""

import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from finetune.analysis.table import Cells, markdown_table

METRICS = ("ndcg@10", "mrr@10")


def ranking_table(measured: dict[str, Any]) -> str:
    """Test scores by loss, means over seeds, and those of the baselines."""
    losses: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, found in measured["runs"].items():
        losses[key.split()[0]].append(found)
    first = next(iter(measured["runs"].values()))
    lines = [_line(name, "", [scores]) for name, scores in first["baselines"].items()]
    lines += [
        _line(f"minilm, loss={loss}", str(len(runs)), [one["scores"] for one in runs]) for loss, runs in losses.items()
    ]
    asked = measured["questions"]
    text = (
        f"{asked['train']:,} questions to train on, {asked['test']:,} of other articles to test on, "
        f"{measured['epochs']} epochs; means over seeds, each with other training questions. Chance of the test "
        f"questions (95 %, ndcg@10 of one run): ±{_half(measured):.1f}. {measured['cpu']['name']}, "
        f"{measured['date'][:10]}."
    )
    return f"{markdown_table(['order', 'seeds', *METRICS], lines)}\n\n{text}"


def _line(name: str, seeds: str, scores: list[Mapping[str, float]]) -> Cells:
    return [name, seeds, *(f"{100 * statistics.fmean(one[metric] for one in scores):.1f}" for metric in METRICS)]


def _half(measured: dict[str, Any]) -> float:
    """Half the width of a run's interval, the mean over runs, in points."""
    intervals = [one["margin"]["interval"] for one in measured["runs"].values()]
    return 50 * statistics.fmean(high - low for low, high in intervals)
