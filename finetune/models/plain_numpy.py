"""numpy as in a fresh process, whatever the calling program has set."""

from contextlib import AbstractContextManager

import numpy as np


def plain_numpy() -> AbstractContextManager[None]:
    """Within, numpy handles what overflows, is divided by 0 or is not a number as by default."""
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
