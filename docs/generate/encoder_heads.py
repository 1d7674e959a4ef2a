"""Rows of the tables of docs/explanation/heads.md, and figures within its sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from tables import Row, RowsFunction

File = dict[str, Any]
LOOKED_AT = ("previous", "next", "first")  # tokens that can have most of a head's attention


def looks(file: File, words: Mapping[str, str]) -> Iterator[Row]:
    """What all heads look at, from the least to the most, and which head most."""
    attention = file["attention"]
    sources = {
        "untrained": attention["untrained"]["mrpc"],
        "mrpc": attention["trained"]["mrpc"],
        "sst2": attention["trained"]["sst2"],
    }
    for measure, title in words.items():
        values = np.array(sources["mrpc"]["measures"][measure])
        layer, head = np.unravel_index(values.argmax(), values.shape)
        in_percent = measure not in ("distance", "entropy")
        ranges = {name: _range(source["measures"][measure], in_percent) for name, source in sources.items()}
        even = _range(sources["mrpc"]["uniform"][measure], in_percent)
        yield {"title": title, "even": even, "layer": layer + 1, "head": head + 1} | ranges


def equal_starts(file: File, words: Mapping[str, str]) -> Iterator[Row]:
    """How much heads differ at the end of each start, and accuracy."""
    for name, runs in file["equal"]["starts"].items():
        curve = mean_curve(runs)
        yield {
            "title": words[name],
            "start": _small(curve[0][1]),
            "soon": _small(curve[1][1]),
            "soon_updates": runs[0]["apart"][1][0],
            "end": _small(curve[-1][1]),
            "end_updates": runs[0]["apart"][-1][0],
            "accuracy": _range([run["accuracy"] for run in runs]),
        }


def heads_off(file: File, words: Mapping[str, str]) -> Iterator[Row]:
    """What switching heads off does to dev scores."""
    columns = {}
    for task in ("sst2", "mrpc"):
        runs = _runs_off(file, task)
        changes = [100 * (np.array(run["without"]) - run["accuracy"]) for run in runs]
        fewer = [dict(map(tuple, run["fewer"])) for run in runs]
        columns[task] = {
            "accuracy": _range([run["accuracy"] for run in runs]),
            "majority": _range(runs[0]["most_frequent"]),
            "change": ", ".join(f"{change.min():+.1f} – {change.max():+.1f}" for change in changes),
            "significant": ", ".join(str(sum(p < 0.05 for p in run["p"])) for run in runs),
            **{str(count): ", ".join(f"{100 * (run[count] - run[0]):+.1f}" for run in fewer) for count in (24, 48)},
        }
    for name, title in words.items():
        yield {"title": title} | {task: column[name] for task, column in columns.items()}


def heads_facts(file: File) -> dict[str, str]:
    """Figures within sentences, by marker."""
    trained, untrained = file["attention"]["trained"], file["attention"]["untrained"]["mrpc"]
    jobs = looked_at(trained["mrpc"]["measures"])
    alike = [
        np.corrcoef([np.ravel(trained[task]["measures"][name]) for task in ("mrpc", "sst2")])[0, 1]
        for name in LOOKED_AT
    ]
    run = _runs_off(file, "mrpc")[0]
    facts = {
        "texts": str(file["attention"]["texts"]),
        "first": str((jobs == "first").sum()),
        "other": str((jobs == "other").sum()),
        "alike": f"{min(alike):.2f}",
        "between-trained": f"{_divergence(trained['mrpc']):.2f}",
        "between-untrained": f"{_divergence(untrained):.3f}",
        "off-change": f"{100 * (run['accuracy'] - np.min(run['without'])):.1f}",
        "off-p": f"{min(run['p']):.2f}",
        "rounding": _small(mean_curve(file["equal"]["starts"]["equal"])[-1][1]),
        "machine": f"{file['machine']['cpu']['name']}, {file['machine']['date'][:10]}",
    }
    return {f"heads-{name}": text for name, text in facts.items()}


def looked_at(measures: File) -> np.ndarray:
    """What each head looks at with more than half of its attention: a key of LOOKED_AT; else `other`."""
    return np.select([np.array(measures[name]) > 0.5 for name in LOOKED_AT], [*LOOKED_AT], default="other")


def _divergence(attention: File) -> float:
    """The mean divergence of two different heads of a layer."""
    layers, heads = np.shape(attention["measures"]["distance"])
    blocks = np.array(attention["apart"]).reshape(layers, heads, layers, heads)
    return float(np.einsum("ijik->i", blocks).mean() / (heads * (heads - 1)))


def _runs_off(file: File, task: str) -> list[File]:
    """Measurements without heads, by seed."""
    return [run for name, run in file.items() if name.startswith(f"off-{task}-")]


def mean_curve(runs: list[File]) -> list[tuple[float, float]]:
    """How much heads differ by update, a mean of the seeds."""
    return [tuple(point) for point in np.mean([run["apart"] for run in runs], 0).tolist()]


def _range(values: Any, in_percent: bool = True) -> str:
    texts = [f"{100 * value:.1f} %" if in_percent else f"{value:.1f}" for value in (np.min(values), np.max(values))]
    return " – ".join(dict.fromkeys(texts))


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.0e}" if value < 1e-3 else f"{value:.2f}"


FUNCTIONS: dict[str, RowsFunction] = {function.__name__: function for function in (looks, equal_starts, heads_off)}
