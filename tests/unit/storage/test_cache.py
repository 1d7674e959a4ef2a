"""The cache on disk: what is counted and evicted, what stays, and what a run cannot do without."""

import os
import time
from pathlib import Path

import pytest

from finetune.errors import UserError
from finetune.storage.cache import FACTS, CacheKind, Entry, entry, hash_of

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
    one = entry(kind, hash_of([name]))
    with one.locked():
        (one.folder / "file").write_bytes(b"x" * SIZE)
        (one.folder / FACTS).touch()
    os.utime(one.folder / FACTS, (time.time() - used * DAYS,) * 2)
    return one.folder / "file"


def mine() -> Entry:
    """An entry that is made."""
    one = entry("tokens", hash_of(["mine"]))
    one.folder.mkdir(parents=True, exist_ok=True)
    return one


def test_entries_are_evicted_in_the_order_of_their_use(monkeypatch: pytest.MonkeyPatch) -> None:
    newer, older = written("corpora", "newer", used=3), written("corpora", "older", used=4)
    states, small = written("states", "states", used=2), written("vocabularies", "small", used=9)
    limit(monkeypatch, 3.5)  # a small entry is neither counted nor evicted
    assert mine().make_room(SIZE // 2, evict=False) and not mine().make_room(SIZE, evict=False)
    assert not mine().make_room(4 * SIZE) and older.exists()  # what cannot help stays
    assert mine().make_room(SIZE)
    assert [file.exists() for file in (older, newer, states, small)] == [False, True, True, True]


def test_text_that_a_run_may_read_again_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    text, states = written("corpora", "text", used=0.5), written("states", "states", used=0.1)
    limit(monkeypatch, 2)
    assert not mine().make_room(2 * SIZE) and states.exists()
    assert mine().make_room(SIZE)
    assert text.exists() and not states.exists()


def test_what_a_run_needs_and_cannot_have_is_one_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, 1)
    mine().require_room(SIZE, what="it needs little")
    with pytest.raises(UserError, match=r"it needs much, for which .*FINETUNE_CACHE_GB is 1e-06"):
        mine().require_room(2 * SIZE, what="it needs much")
    facts = [1, 8192, "text", "0.22"]
    assert entry("vocabularies", hash_of(facts)).folder == cache / "vocabularies" / "57bdc12dccdbb6a95bf6"
    (cache / "untrained").write_text("a file")
    one = entry("untrained", "a")
    with pytest.raises(UserError, match=r"cannot be used.*FINETUNE_CACHE"), one.locked():
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
    assert mine().make_room(SIZE)
    assert theirs.exists()
    (mine().folder / "ids").symlink_to(theirs)
    for one in (mine(), Entry(cache / "tokens" / "link")):
        with pytest.raises(UserError, match=r"(ids|link): is a symbolic link"), one.locked():
            pass


def test_an_entry_is_made_once_and_again_where_it_is_damaged() -> None:
    one, made = mine(), list[str]()

    def make() -> None:
        made.append("made")
        (one.folder / "a").write_text("content")
        one.seal(["a"], count=1)

    def read() -> object:
        one.ensure(make)
        facts = one.facts()
        return facts and (facts["count"], (one.folder / "a").read_text())

    assert [read(), read(), len(made)] == [(1, "content"), (1, "content"), 1]
    for number, damage in enumerate(("", "[]", '{"count": 1, "sha256": "old"}'), start=2):
        (one.folder / FACTS).write_text(damage)
        assert (read(), len(made)) == ((1, "content"), number)
    (one.folder / "a").write_text("no content")
    assert (read(), len(made)) == ((1, "content"), 5)
