"""Figures within the sentences of docs/explanation/heads.md."""

from typing import Any

import numpy as np

File = dict[str, Any]
LOOKED_AT = ("previous", "next", "first")  # tokens that can have most of a head's attention


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


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.0e}" if value < 1e-3 else f"{value:.2f}"
