"""The mean of some rows' scores with its 95 % interval, by the normal distribution."""

import numpy as np

Z = 1.959964  # normal quantile of a two-sided interval of 95 %


def mean_interval(values: np.ndarray) -> tuple[float, float]:
    """The mean of values `(rows,)`, and half the width of its 95 % interval; 0 for a single value."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), Z * spread / len(values) ** 0.5
