"""Closes connections that ask for nothing or do not read their answer: a few clients could hold all that a process may
have open.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

SECONDS_TO_MOVE = 10.0  # in which a connection sends a request, or takes a part of its answer


class MovingConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's connection, which closes by itself only after an answer; of one without a request it never asks."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Takes a connection."""
        super().connection_made(transport)
        self._look_again(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets it."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look_again(self, before: object) -> None:
        self._timer = self.loop.call_later(SECONDS_TO_MOVE, self._look, before)

    def _look(self, before: object) -> None:
        """Closes the connection where nothing has moved since the last look."""
        now = self._halted()
        if now is not None and now == before:
            self.transport.abort()
        elif not self.transport.is_closing():
            self._look_again(now)

    def _halted(self) -> tuple[int, int] | None:
        """The last request and the bytes of its answer that were not taken; None while the server is at work on it."""
        works = self.cycle is not None and not self.cycle.response_complete
        left = self.transport.get_write_buffer_size()
        return None if works and not self.flow.write_paused else (id(self.cycle), left)
