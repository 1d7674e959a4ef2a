"""What a server takes at once; a request that is more is refused with one line."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ServeLimits:
    """Bounds of a request (its body, rows, and characters of a row), of all bodies that are held, of requests that
    wait, and the seconds after which one is dropped. `tokens` are computed together, by estimate. `explanations` are
    asked of a model at once: while one is computed, all others wait.
    """

    body_bytes: int = 8_000_000
    held_bytes: int = 128_000_000
    rows: int = 1_000
    characters: int = 100_000
    waiting: int = 256
    explanations: int = 2
    seconds: float = 30.0
    tokens: int = 4_096
