"""The one thread that computes with a model: requests that wait are computed together, up to a budget of tokens."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.refused import Refused

SECONDS_TO_GATHER = 0.002  # in which none came: then no more are expected
Compute = Callable[[Sequence[Any]], list[Any]]


@dataclass(eq=False, kw_only=True)
class WaitingRequest:
    """A request's rows with the tokens of each, what computes them, the time when it is dropped, and its answers."""

    rows: Sequence[Any]
    tokens: Sequence[int]
    compute: Compute
    until: float
    future: "Future[list[Any]]" = field(default_factory=Future)
    found: list[Any] = field(default_factory=list)

    def slice_of(self, room: int) -> Sequence[Any]:
        """The next rows that fit a room of tokens; at least one."""
        start = end = len(self.found)
        while end < len(self.rows) and (end == start or self.tokens[end] <= room):
            room -= self.tokens[end]
            end += 1
        return self.rows[start:end]

    def dropped(self) -> bool:
        """Whether nobody waits for it any more; a request past its time is told so."""
        if self.future.done():
            return True
        if time.monotonic() < self.until:
            return False
        self.fail(Refused(504, "the server had no time for the request", "Send fewer rows, or try again later"))
        return True

    def add(self, answers: Sequence[Any]) -> None:
        """Adds the answers of its next rows, and completes it after the last."""
        self.found.extend(answers)
        if len(self.found) == len(self.rows):
            with suppress(InvalidStateError):  # its client has gone away
                self.future.set_result(self.found)

    def fail(self, error: BaseException) -> None:
        """Ends it with an error."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)


class ModelThread:
    """Computes the rows of requests, in turn.

    It waits for no more of them than there are, but where several were there for the batch before: clients that were
    answered send their next ones, and without a wait they would be split into batches of one and of all others for
    ever. A request of more rows than the budget is computed in parts, between which others have theirs.
    """

    def __init__(self, limits: ServeLimits, *, name: str) -> None:
        self.limits = limits
        self._waiting = deque[WaitingRequest]()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=f"model {name}", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, compute: Compute, rows: Sequence[Any], tokens: Sequence[int]) -> "Future[list[Any]]":
        """The answers of `compute` for the rows, once they are there; dropped after `limits.seconds`.

        Cancel it where nobody waits for them any more. Raises Refused where too many requests wait.
        """
        until = time.monotonic() + self.limits.seconds
        one = WaitingRequest(rows=rows, tokens=tokens, compute=compute, until=until)
        if not rows:
            one.add([])
            return one.future
        with self._changed:
            if self._closed:
                raise Refused(503, "the server is stopping", "Try again later", headers={"Retry-After": "5"})
            if len(self._waiting) >= self.limits.waiting:
                headers = {"Retry-After": "1"}
                raise Refused(503, f"{len(self._waiting):,} requests wait", "Try again later", headers=headers)
            self._waiting.append(one)
            self._changed.notify()
        return one.future

    def drop_waiting(self) -> None:
        """Refuses the requests that wait."""
        with self._changed:
            while self._waiting:
                self._waiting.pop().fail(Refused(503, "the server is stopping", "Send it to another"))

    def close(self, seconds: float) -> None:
        """Takes no more requests, and waits until those that wait are computed, or so many seconds have passed."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _work(self) -> None:
        expected = 1
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                while len(self._waiting) < expected and not self._closed and self._changed.wait(SECONDS_TO_GATHER):
                    pass
                taken = self._gathered()
            if not taken:  # all that waited were dropped
                continue
            _compute(taken)
            with self._changed:
                expected = len(self._waiting) + len(taken)
                self._waiting.extend(one for one, _ in taken if not one.future.done())
            del taken

    def _gathered(self) -> list[tuple[WaitingRequest, Sequence[Any]]]:
        """The requests that are computed next, each with some of its rows; they are taken out of the queue."""
        taken: list[tuple[WaitingRequest, Sequence[Any]]] = []
        others, room = list[WaitingRequest](), self.limits.tokens
        while self._waiting and (room > 0 or not taken):
            one = self._waiting.popleft()
            if one.dropped():
                continue
            if taken and one.compute != taken[0][0].compute:
                others.append(one)
                continue
            some = one.slice_of(room)
            room -= sum(one.tokens[len(one.found) :][: len(some)])
            taken.append((one, some))
        self._waiting.extendleft(reversed(others))
        return taken


def _compute(taken: Sequence[tuple[WaitingRequest, Sequence[Any]]]) -> None:
    """Computes the rows of requests together; where that fails, of each alone, so that one spoils no other."""
    rows = [row for _, some in taken for row in some]
    try:
        answers = iter(taken[0][0].compute(rows))
        for one, some in taken:
            one.add([next(answers) for _ in some])
    except Exception as error:
        if len(taken) == 1:
            taken[0][0].fail(error)
            return
        for each in taken:
            _compute([each])
