"""Fixtures that all tests share; each is in a module of `support`."""

import gc
import os
from collections.abc import Iterator

import pytest

# Before the libraries that read these are imported:
os.environ["OMP_NUM_THREADS"] = "1"  # tiny encoders gain nothing from more, and tests run in parallel
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE"  # no native bf16: `auto` is fp32 here as on any other processor
os.environ["HF_HUB_OFFLINE"] = "1"  # no test may need the network; those of the Hub start a server of their own

gc.disable()  # until all tests are collected: a million objects, none of which is garbage

pytest_plugins = [
    "support.encoders",
    "support.cli",
    "support.data",
    "support.glue",
    "support.hub",
    "support.checked_files",
    "support.runs",
    "support.exported",
    "support.reports",
    "support.page_data",
]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache for these tests, not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINETUNE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files reach the disk when the system likes: no test cuts the power, and thousands of waits take a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever is not for every change may take a quarter of an hour; any other test has a minute (pyproject.toml)."""
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.timeout(900))


def pytest_collection_finish() -> None:
    """What is collected stays, so no search for garbage visits it again."""
    gc.freeze()
    gc.enable()
