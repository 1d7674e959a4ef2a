"""A large file of the user's is read once; after any change of what decides its rows it is read again."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from finetune.api.planning import plan
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types import known_data, own_data
from finetune.task_types.known_rows import fingerprinted_splits
from finetune.task_types.resolved_run import ResolvedRun

SOURCE = Source()
Found = tuple[ResolvedRun, dict[str, Rows], str]
PAIRS = "first,second,label\n" + "".join(f"a cat {i},a dog {i % 7},{('yes', 'no')[i % 2]}\n" for i in range(60))
STARS = "text,stars\n" + "".join(f"film {i} is long,{i % 5}.5\n" for i in range(60))
TAGS = "".join(
    json.dumps({"tokens": ["Ann", "is", f"in{i}"], "tags": ["B-PER", "O", "B-LOC" if i % 2 else "O"]}) + "\n"
    for i in range(60)
)
SPANS = "".join(
    json.dumps(
        {"question": f"who is {i}", "context": f"this is Ann {i}", "answers": {"text": ["Ann"], "answer_start": [8]}}
    )
    + "\n"
    for i in range(60)
)
SEVERAL = "text,red,blue\n" + "".join(f"a ball {i},{i % 2},{i % 3 // 2}\n" for i in range(60))
FILES = {"pairs.csv": PAIRS, "stars.csv": STARS, "tags.jsonl": TAGS, "spans.jsonl": SPANS, "several.csv": SEVERAL}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder and an empty cache, in which small files are large ones."""
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(known_data, "LEAST_BYTES", 1)
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are read as tables."""
    found, read = list[Path](), own_data.table_of

    def noted(path: Path, *given: Any) -> Any:
        found.append(path)
        return read(path, *given)

    monkeypatch.setattr(own_data, "table_of", noted)
    return found


def started(name: str, **settings: Any) -> Found:
    """What a start finds: the run, its rows and their fingerprint."""
    (one,) = plan([name], {"model": "minilm", **settings})
    return (one, *fingerprinted_splits(one.task, SOURCE, limit=one.recipe.limit))


def facts(found: Found) -> Any:
    """All that a start found, as plain values."""
    one, splits, data = found
    read = own_data.own_data(one.task)
    assert read is not None
    rows = {split: (list(loaded.rows), {**vars(loaded), "rows": None}) for split, loaded in splits.items()}
    layout = json.loads(json.dumps(asdict(read.layout)))
    return one.recipe, one.task.dev_splits, one.task.label_names, layout, rows, data, list(read.described)


@pytest.mark.parametrize("name", FILES)
def test_a_second_start_finds_the_same_without_reading(name: str, here: Path, reads: list[Path]) -> None:
    (here / name).write_text(FILES[name])
    first = facts(started(name))
    assert reads
    reads.clear()
    assert facts(started(name)) == first
    assert reads == []
    assert facts(started(name, seed=7))[4:] == first[4:]
    assert reads == []


def test_a_limit_draws_the_same_rows(here: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "pairs.csv").write_text(PAIRS)
    started("pairs.csv")
    reads.clear()
    found = facts(started("pairs.csv", limit=20))
    assert reads == []
    monkeypatch.setattr(known_data, "LEAST_BYTES", 1e9)
    assert facts(started("pairs.csv", limit=20)) == found
    assert len(found[4]["train"][0]) == 20


def rewritten(file: Path, old: str, new: str) -> None:
    """Another text of the same length at the same time."""
    before, text = file.stat(), file.read_text()
    assert len(old) == len(new) and old in text
    file.write_text(text.replace(old, new, 1))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def new_process() -> None:
    """Forgets what this process knows of files by their times, as a new one does."""
    from finetune.data import checksums, reading

    checksums._sha256.cache_clear()
    reading.forget_tables()


def change_train(here: Path) -> dict[str, Any]:
    rewritten(here / "pairs.csv", "a cat 3,", "a fox 3,")
    return {}


def change_dev(here: Path) -> dict[str, Any]:
    rewritten(here / "more.csv", "a cat 3,", "a fox 3,")
    return {}


def change_test(here: Path) -> dict[str, Any]:
    rewritten(here / "test.csv", ",yes", ", no")
    return {}


def name_other_columns(here: Path) -> dict[str, Any]:
    return {"text": "second"}


def swap_files(here: Path) -> dict[str, Any]:
    return {"dev": "test.csv", "test": "more.csv"}


@pytest.mark.parametrize("change", [change_train, change_dev, change_test, name_other_columns, swap_files])
def test_after_a_change_the_files_are_read(
    change: Callable[[Path], dict[str, Any]], here: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for file, text in (("pairs.csv", PAIRS), ("more.csv", PAIRS[:700]), ("test.csv", PAIRS[:900])):
        (here / file).write_text(text[: text.rindex("\n") + 1])
    names = {"dev": "more.csv", "test": "test.csv"}
    before = facts(started("pairs.csv", **names))
    names |= change(here)
    new_process()
    reads.clear()
    after = facts(started("pairs.csv", **names))
    assert reads
    assert after != before and after[5] != before[5]
    monkeypatch.setattr(known_data, "LEAST_BYTES", 1e9)
    assert facts(started("pairs.csv", **names)) == after  # as without a cache


def test_another_version_or_code_reads_again(here: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "pairs.csv").write_text(PAIRS)
    started("pairs.csv")
    for name, value in (("version", lambda name: "99"), ("_code", lambda: "other"), ("FORMAT", 2)):
        reads.clear()
        monkeypatch.setattr(known_data, name, value)
        started("pairs.csv")
        assert reads, name


def test_names_of_labels_next_to_the_file_count(here: Path, reads: list[Path]) -> None:
    (here / "data.csv").write_text("text,label\n" + "".join(f"film {i},{i % 2}\n" for i in range(60)))
    assert started("data.csv")[0].task.label_names == ("0", "1")
    (here / "labels.txt").write_text("bad\ngood\n")
    assert started("data.csv")[0].task.label_names == ("bad", "good")
    (here / "labels.txt").write_text("bad\nfine\n")
    new_process()
    assert started("data.csv")[0].task.label_names == ("bad", "fine")


def test_a_file_of_the_dev_rows_counts(here: Path) -> None:
    (here / "pairs.csv").write_text(PAIRS)
    for chosen in (["3", "5"], ["4", "6"]):
        (here / "split.json").write_text(json.dumps({"dev": chosen}))
        new_process()
        assert [row.id for row in started("pairs.csv", split="split.json")[1]["dev"].rows] == chosen


def test_data_with_an_error_is_refused_each_time(here: Path) -> None:
    (here / "one.csv").write_text("text,label\n" + "".join(f"film {i},good\n" for i in range(60)))
    for _ in range(2):
        with pytest.raises(UserError, match="label"):
            plan(["one.csv"], {"label": "label", "shape": "classification", "model": "minilm"})


@pytest.mark.parametrize("damage", ["data.json", "rows.marshal", "facts.json"])
def test_a_damaged_cache_is_written_again(damage: str, here: Path, reads: list[Path]) -> None:
    (here / "pairs.csv").write_text(PAIRS)
    first = facts(started("pairs.csv"))
    damaged = [*(here.parent / "cache" / "rows").glob(f"*/{damage}")]
    for file in damaged:
        file.write_bytes(file.read_bytes()[:-9] + b"something")
    assert damaged
    new_process()
    for again in (True, False):
        reads.clear()
        assert facts(started("pairs.csv")) == first
        assert bool(reads) == again


def test_without_room_nothing_is_kept(here: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINETUNE_CACHE_GB", "0")
    (here / "pairs.csv").write_text(PAIRS)
    first = facts(started("pairs.csv"))
    reads.clear()
    assert facts(started("pairs.csv")) == first
    assert reads
    assert not [*(here.parent / "cache").rglob("*.bin")]


def test_small_files_are_not_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_data, "LEAST_BYTES", 1e6)
    (here / "pairs.csv").write_text(PAIRS)
    started("pairs.csv")
    assert not (here.parent / "cache").exists()
