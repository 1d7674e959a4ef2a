"""Trackers that are registered with Accelerate for a test: one keeps what it gets, others do not work."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, GeneralTracker


class Keeping(GeneralTracker):
    """Keeps settings and numbers of all runs."""

    name = "keeping"
    requires_logging_directory = False
    settings: ClassVar[list[dict[str, Any]]] = []
    points: ClassVar[list[tuple[int, dict[str, float]]]] = []
    finished: ClassVar[list[str]] = []

    def __init__(self, run_name: str) -> None:
        super().__init__()
        self.run_name = run_name

    @property
    def tracker(self) -> None:
        return None

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        self.settings.append(values)

    def log(self, values: dict[str, float], step: int | None = None, **kwargs: Any) -> None:
        assert step is not None
        self.points.append((step, values))

    def finish(self) -> None:
        self.finished.append(self.run_name)


class Raising(Keeping):
    """Raises at every call of `log`, not always what is expected."""

    name = "raising"

    def log(self, values: dict[str, float], step: int | None = None, **kwargs: Any) -> None:
        raise SystemExit("no such server")


class Closed(Keeping):
    """Cannot be opened."""

    name = "closed"

    def start(self) -> None:
        raise ConnectionError("refused")


@pytest.fixture
def own_trackers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registers these trackers, with nothing kept yet."""
    for kind in (Keeping, Raising, Closed):
        monkeypatch.setitem(LOGGER_TYPE_TO_CLASS, kind.name, kind)
    for kept in (Keeping.settings, Keeping.points, Keeping.finished):
        kept.clear()
    yield
