"""Items that a thread makes while the caller uses the ones before them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes the next one while the caller uses the last."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(lambda: list(islice(items, 1)))
        while made := coming.result():
            coming = thread.submit(lambda: list(islice(items, 1)))
            yield made[0]
