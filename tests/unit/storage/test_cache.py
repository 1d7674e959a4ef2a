"""The cache on disk: what is counted and evicted, what stays, and what a run cannot do without."""

import os
import time
from pathlib import Path

import pytest

from finetune.errors import UserError
from finetune.storage.cache import FACTS, CacheKind, entry, fits, hash_of, locked, make_room, require_room, required

SIZE = 1_000  # bytes of an entry's file
DAYS = 86_400  # seconds


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def limit(monkeypatch: pytest.MonkeyPatch, entries: float) -> None:
    monkeypatch.setenv("FINETUNE_CACHE_GB", str(entries * SIZE / 1e9))


def written(kind: CacheKind, name: str, *, used: float) -> Path:
    """The file of an entry that was last used so many days ago."""
    folder = entry(kind, hash_of([name]))
    with locked(folder):
        (folder / "file").write_bytes(b"x" * SIZE)
        (folder / FACTS).touch()
    os.utime(folder / FACTS, (time.time() - used * DAYS,) * 2)
    return folder / "file"


def mine() -> Path:
    """The folder of an entry that is made."""
    folder = entry("tokens", hash_of(["mine"]))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_text_is_counted_and_evicted_in_the_order_of_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    newer, older = written("corpora", "newer", used=3), written("corpora", "older", used=4)
    states = written("states", "states", used=2)
    limit(monkeypatch, 3.5)
    assert fits(mine(), SIZE // 2) and not fits(mine(), SIZE)
    assert make_room(mine(), SIZE)
    assert (older.exists(), newer.exists(), states.exists()) == (False, True, True)


def test_text_that_a_run_may_read_again_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    text, states = written("corpora", "text", used=0.5), written("states", "states", used=0.1)
    limit(monkeypatch, 2)
    assert not make_room(mine(), 2 * SIZE)
    assert text.exists() and states.exists()  # what cannot help stays
    assert make_room(mine(), SIZE)
    assert text.exists() and not states.exists()


def test_small_entries_are_neither_counted_nor_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [written(kind, "small", used=9) for kind in ("vocabularies", "untrained")]  # type: ignore[arg-type]
    limit(monkeypatch, 1)
    assert make_room(mine(), SIZE)
    assert not make_room(mine(), 2 * SIZE)
    assert all(file.exists() for file in small)


def test_what_a_run_needs_and_cannot_have_is_one_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, 1)
    require_room(mine(), SIZE, what="it needs little")
    with pytest.raises(UserError, match=r"it needs much, for which .*FINETUNE_CACHE_GB is 1e-06"):
        require_room(mine(), 2 * SIZE, what="it needs much")
    (cache / "untrained").write_text("a file")
    with pytest.raises(UserError, match=r"the cache cannot be used.*FINETUNE_CACHE"), required(entry("untrained", "a")):
        pass


def test_no_file_elsewhere_is_evicted_or_written_through_a_link(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    theirs = tmp_path / "elsewhere" / "theirs"
    theirs.write_bytes(b"x" * SIZE)
    written("tokens", "own", used=3)
    (cache / "tokens" / "link").symlink_to(tmp_path / "elsewhere")
    limit(monkeypatch, 1)
    assert make_room(mine(), SIZE)
    assert theirs.exists()
    (mine() / "ids").symlink_to(theirs)
    for folder in (mine(), cache / "tokens" / "link"):
        with pytest.raises(UserError, match=r"(ids|link): is a symbolic link"), locked(folder):
            pass


def test_the_names_of_entries_stay(cache: Path) -> None:
    facts = [1, 8192, "text", "0.22"]
    assert entry("vocabularies", hash_of(facts)) == cache / "vocabularies" / "57bdc12dccdbb6a95bf6"
