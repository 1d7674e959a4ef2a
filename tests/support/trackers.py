"""Trackers that are registered with Accelerate for a test: one keeps what it is sent, others do not work."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
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


class Hanging(Keeping):
    """Never returns from its first call of `log`."""

    name = "hanging"

    def log(self, values: dict[str, float], step: int | None = None, **kwargs: Any) -> None:
        threading.Event().wait()


class Slow(Keeping):
    """Takes a fifth of a second for each call."""

    name = "slow"

    def log(self, values: dict[str, float], step: int | None = None, **kwargs: Any) -> None:
        time.sleep(0.2)


@pytest.fixture
def own_trackers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registers these trackers, with nothing kept yet."""
    for kind in (Keeping, Raising, Closed, Hanging, Slow):
        monkeypatch.setitem(LOGGER_TYPE_TO_CLASS, kind.name, kind)
    for kept in (Keeping.settings, Keeping.points, Keeping.finished):
        kept.clear()
    yield


def wandb_records(folder: Path) -> list[Any]:
    """What wandb saved in its offline runs under a folder: blocks of 32 KiB after a header of 7 bytes, each record in
    parts with a header of checksum, length and type (1 whole, 2 first, 3 middle, 4 last).
    """
    from wandb.proto.wandb_internal_pb2 import Record

    found = []
    for file in sorted(folder.glob("offline-run-*/*.wandb")):
        data, at, whole = file.read_bytes(), 7, b""
        while at + 7 <= len(data):
            if 32_768 - at % 32_768 < 7:
                at += 32_768 - at % 32_768
                continue
            length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
            whole, at = whole + data[at + 7 : at + 7 + length], at + 7 + length
            if kind in (1, 4):
                found.append(Record.FromString(whole))
                whole = b""
    return found
