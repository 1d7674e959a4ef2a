"""Stand-ins for Ray, for tests of what is done with what it returns: a reference is the name of what came of it."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

exceptions = pytest.importorskip("ray.exceptions")


def machines(*resources: dict[str, float]) -> Any:
    """A cluster of machines with these resources."""
    return SimpleNamespace(nodes=lambda: [{"Alive": True, "Resources": one} for one in resources])


def task_error(cause: BaseException) -> Exception:
    """What `ray.get` raises for a task that raised `cause`."""
    raised = exceptions.RayTaskError(
        "function", f"traceback of {cause!r}", cause, proctitle="ray::function", pid=1, ip="127.0.0.1"
    )
    return raised.as_instanceof_cause()


class FakeRay:
    """Tasks that ended, in this order, by what they returned or raised (a RayError); others never end."""

    exceptions = exceptions

    def __init__(self, **found: Any) -> None:
        self.found = found
        self.cancelled: list[str] = []
        self.timeouts: list[float | None] = []

    def get(self, reference: str) -> Any:
        """What a task returned. Raises its error."""
        if isinstance(self.found[reference], exceptions.RayError):
            raise self.found[reference]
        return self.found[reference]

    def wait(
        self, references: Sequence[str], *, num_returns: int = 1, timeout: float | None = None
    ) -> tuple[list[str], list[str]]:
        """The first that ended, and all others."""
        self.timeouts.append(timeout)
        assert len(self.timeouts) < 100, "waits without end"
        done = [name for name in self.found if name in references][:num_returns]
        return done, [name for name in references if name not in done]

    def cancel(self, reference: str, *, recursive: bool) -> None:
        """Nothing but a note of it."""
        self.cancelled.append(reference)
