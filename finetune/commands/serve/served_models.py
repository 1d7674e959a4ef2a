"""All models of a server, each with its thread."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from starlette.requests import Request

from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.model_thread import Compute, ModelThread
from finetune.commands.serve.refused import Refused
from finetune.commands.serve.served_model import ServedModel
from finetune.errors import UserError

GONE = 499  # the status, for the log alone, of a request whose client went away
SECONDS_TO_LOOK = 0.5  # after which it is looked whether a client is there


class ServedModels:
    """The models by name, and the threads that own them."""

    def __init__(self, models: Sequence[ServedModel], limits: ServeLimits) -> None:
        self.limits = limits
        self.by_name = {model.name: model for model in models}
        self._threads = {name: ModelThread(limits, name=name) for name in self.by_name}
        self.stopping = False

    @property
    def ready(self) -> bool:
        """Whether a request would be taken: the server does not stop, and no queue is full."""
        return not self.stopping and all(len(thread) < self.limits.waiting for thread in self._threads.values())

    async def compute(
        self, request: Request, name: str, work: Compute, rows: Sequence[Any], tokens: Sequence[int]
    ) -> list[Any]:
        """The answers of a model's thread.

        Raises Refused where there are none in time, and where the client has left.
        """
        given: Future[list[Any]] = self._threads[name].submit(work, rows, tokens)
        future = asyncio.wrap_future(given)
        try:
            while not (await asyncio.wait([future], timeout=SECONDS_TO_LOOK))[0]:
                if await request.is_disconnected():
                    raise Refused(GONE, "the client has left", "Wait for the answer")
            return future.result()
        except UserError as error:
            raise Refused(400, error.what, error.way_out) from error
        finally:
            future.cancel()

    def drop_waiting(self) -> None:
        """Refuses the requests that still wait."""
        for thread in self._threads.values():
            thread.drop_waiting()

    def close(self, seconds: float) -> None:
        """Takes no more requests, and waits for those that wait."""
        for thread in self._threads.values():
            thread.close(seconds)
