"""Values that a setting or a fact is seldom prepared for, and damaged bytes."""

import random
from typing import Any

TEXTS = (
    *("", " ", ".", "..", "/", "~nobody/x", "../../etc/passwd", "/dev/zero", "\0", "a\0b", "\x1b[31m", "[/x]"),
    *("[bold]", "{0}", "%s", "\u202eabc", "\ufeff", "nan", "last", "auto", "mrpc", "squad-v2", "x.py:y", "NaN", "-1"),
    *("=", "a=b", "é" * 300, "x" * 300, "x" * 5_000, "a/" * 3_000, "a." * 2_000, "[" * 3_000, "9" * 5_000, "'" * 3),
    *("\\", "\n", "*"),
)  # fmt: skip
INFINITE = float("inf")
NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 10**3, 10**6, 10**9, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400),
    *(0.0, -0.0, 0.1, 0.5, 1.0, -1.5, 1e-5, 1e-45, 5e-324, 1e38, 1e39, 1.7e308, INFINITE, -INFINITE, float("nan")),
)  # fmt: skip


def value(draw: random.Random, depth: int = 0) -> Any:
    """A value that a setting or a fact is seldom prepared for."""
    kind = draw.randrange(9 if depth < 3 else 6)
    if kind < 2:
        return draw.choice(TEXTS)
    if kind < 5:
        return draw.choice(NUMBERS)
    if kind == 5:
        return draw.random() < 0.5
    if kind == 6:
        return [value(draw, 3)] * draw.choice((1, 2, 100, 2_000))
    if kind == 7:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(TEXTS) or "k": value(draw, depth + 1) for _ in range(draw.randrange(4))}
