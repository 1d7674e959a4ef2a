"""A small corpus, and a cache of its own, for the tests of runs on text."""

from pathlib import Path

import pytest
from support.corpora import sentence


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of 240 documents of two lines, in which a word depends on the one before."""
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"{sentence(n)}\n{sentence(n + 1000)}\n\n" for n in range(240)))
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "cache"
