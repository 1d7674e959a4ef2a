"""The one thread that computes with the model: requests that wait are computed together, up to a number of tokens."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

SECONDS_TO_GATHER = 0.002  # in which none came: then no more are expected
Compute = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class WaitingRows:
    """Rows of a request, about how many tokens they have, and what computes the answers of `future`."""

    compute: Compute
    rows: Sequence[Any]
    tokens: int
    future: "Future[list[Any]]" = field(default_factory=Future)


class Worker:
    """Computes rows in the order in which they came, those of several requests together, up to `tokens`.

    It waits for no more requests than there are, except for as many as were computed together just before: clients that
    were answered send their next ones, and without a wait they would be split into one and all others for ever.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self._queue = SimpleQueue[WaitingRows | None]()
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    def submit(self, compute: Compute, rows: Sequence[Any], tokens: int) -> "Future[list[Any]]":
        """The answers of `compute` for the rows; cancel it where nobody waits for them any more."""
        waiting = WaitingRows(compute=compute, rows=rows, tokens=tokens)
        self._queue.put(waiting)
        return waiting.future

    def close(self, seconds: float) -> None:
        """Ends the thread after the rows that wait, for which it waits so many seconds."""
        self._queue.put(None)
        self._queue.put(None)  # the first may be taken while rows are gathered
        self._thread.join(seconds)

    def _work(self) -> None:
        expected = 1
        while first := self._queue.get():
            together, room = [first], self.tokens - first.tokens
            with suppress(Empty):
                while room > 0 and (waiting := self._queue.get(len(together) < expected, SECONDS_TO_GATHER)):
                    together.append(waiting)
                    room -= waiting.tokens
            expected = len(together)
            _compute([waiting for waiting in together if waiting.future.set_running_or_notify_cancel()])
            del first, together  # else the last rows stay in memory


def _compute(together: Sequence[WaitingRows]) -> None:
    """Answers requests of one kind together; where that fails, each alone, so that a bad one spoils no other."""
    for compute in dict.fromkeys(waiting.compute for waiting in together):
        same = [waiting for waiting in together if waiting.compute == compute]
        try:
            answers = iter(compute([row for waiting in same for row in waiting.rows]))
            for waiting in same:
                waiting.future.set_result(list(islice(answers, len(waiting.rows))))
        except Exception as error:
            if len(same) == 1:
                same[0].future.set_exception(error)
            else:
                for waiting in same:
                    _compute([waiting])
