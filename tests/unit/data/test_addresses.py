"""Files by path, pattern, folder and address, with names below the folder of all."""

from pathlib import Path

import fsspec
import pytest
from fsspec.registry import known_implementations

from finetune.data.addresses import found_files, readable, version_now
from finetune.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "year=2025/b", "year=2026/c", "_delta/d", ".crc/e", "_part"):
        file = tmp_path / "in" / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode())
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / "notes.txt").touch()
    return tmp_path / "in"


def names(*addresses: Path | str) -> list[str]:
    return [one.name for one in found_files(map(str, addresses), suffix=".parquet")]


def test_a_folder_a_pattern_and_files_keep_their_paths_below_what_they_share(folder: Path) -> None:
    assert names(folder) == ["a.parquet", "year=2025/b.parquet", "year=2026/c.parquet"]
    assert names(folder / "year=2026") == ["c.parquet"]
    assert names(folder / "year=*") == ["year=2025/b.parquet", "year=2026/c.parquet"]
    assert names(folder / "year=2025", folder / "year=2026") == ["year=2025/b.parquet", "year=2026/c.parquet"]
    assert names(folder / "**" / "*.parquet") == ["a.parquet", "year=2025/b.parquet", "year=2026/c.parquet"]
    assert names(folder / "a.parquet", folder / "a.parquet") == ["a.parquet"]
    assert names(f"file://{folder}") == names(folder)


def test_signs_of_patterns_in_a_name_that_exists_are_no_pattern(folder: Path) -> None:
    (folder / "a[1].parquet").touch()
    assert names(folder / "a[1].parquet") == ["a[1].parquet"]


def test_another_file_system() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/there/x=1/a.parquet", b"content")
    (found,) = found_files(["memory://there/*"], suffix=".parquet")
    assert (found.name, found.address, found.size) == ("x=1/a.parquet", "memory:///there/x=1/a.parquet", 7)
    assert version_now(found.address) == (found.size, found.version)
    with readable(found.address) as file:
        assert not isinstance(file, str)
        assert file.read() == b"content"
    memory.pipe("/there/x=1/a.parquet", b"CONTENT")
    assert version_now(found.address) != (found.size, found.version)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("no.parquet", "no such file"),
        ("no*", "no .parquet file"),
        ("notes.txt", "not a .parquet file"),
        ("unheard://of", "unheard"),
        ("absent://bucket/a.parquet", "pip install absentfs"),
    ],
)
def test_what_is_not_found(folder: Path, monkeypatch: pytest.MonkeyPatch, address: str, words: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setitem(known_implementations, "absent", {"class": "absentfs.FileSystem", "err": "no"})
    with pytest.raises(UserError, match=words.replace(".", r"\.")) as found:
        names(address)
    assert address in found.value.what


def test_two_file_systems_are_not_one_prediction(folder: Path) -> None:
    fsspec.filesystem("memory").pipe("/two/a.parquet", b"")
    with pytest.raises(UserError, match="another file system"):
        names(folder, "memory://two")
