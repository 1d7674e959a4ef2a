"""Which run a name means; and that a record says where its data was without the folders of the machine above it."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.records import run as record_of

from finetune.data.checksums import content_hash
from finetune.data.paths import from_here
from finetune.errors import UserError
from finetune.runs.folder import folder_name
from finetune.runs.lookup import find_run, latest_run, latest_words
from finetune.runs.record_files import write_record

OUT = Path("results")


def trained(data: str, *, day: int = 1, origin: str = "", hashed: bool = True, **recipe: Any) -> str:
    """The id of a run on a file, or a folder with train.csv, that has now this content, as its record says it."""
    path = Path(data)
    task, train = (path.name, path) if path.is_file() else (f"{path.name}-data", path / "train.csv")
    made = f"{len(list(OUT.glob('*/*'))):010d}"
    facts = {
        "id": made, "data_origin": {"train": origin or str(train)}, "finished": f"2026-01-0{day}T00:00:00+00:00",
        "data_files": {"train": content_hash(train)} if hashed else {},
    }  # fmt: skip
    file = OUT / folder_name(task) / made / "record.json"
    file.parent.mkdir(parents=True)
    write_record(file, record_of(0.5, task=task, **recipe).model_copy(update=facts))
    return made


def written(path: str, text: str = "cat") -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(f"text,label\na {text},good\n")
    return path


def named(name: str | Path) -> str:
    found = latest_run(str(name), OUT)
    assert found is not None
    return found.path.name


def test_data_means_the_runs_on_its_content_and_else_on_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = trained(written("a/rows.csv")), trained(written("b/rows.csv", "bird"), day=2)
    assert [named(name) for name in ("a/rows.csv", tmp_path / "b/rows.csv")] == [first, second]
    shutil.copytree("a", "copy")
    assert named("copy/rows.csv") == first
    written("a/rows.csv", "cat that changed")
    assert named("a/rows.csv") == first  # the same path
    third = trained("a/rows.csv", day=3)
    assert (named("a/rows.csv"), named("copy/rows.csv"), find_run(first, OUT).path.name) == (third, first, first)
    with pytest.raises(
        UserError, match=rf"other/rows\.csv; .*{third} of a/rows\.csv, 2026-01-03T.*; {second} of b/rows"
    ):
        latest_run(written("other/rows.csv", "dog"), OUT)
    said = (
        f"a: the latest run is used, {third} of 2026-01-03T00:00:00+00:00; others: {first} of 2026-01-01T00:00:00+00:00"
    )
    assert latest_words("a", [find_run(one, OUT) for one in (third, first)]) == said
    shutil.rmtree("b")
    assert named("rows.csv") == third  # of a name that is no path the latest
    share = trained("a/rows.csv", day=9, train_share=0.5)
    assert named("a/rows.csv") == third  # a run on a share of the rows is never the latest
    shutil.rmtree(OUT / "rows.csv" / third)
    assert named("a/rows.csv") == share


def test_folders_and_records_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place, text in (("a", "cat"), ("b", "bird")):
        for split in ("train", "dev"):
            written(f"{place}/reviews/{split}.csv", text)
    one = trained("a/reviews")
    assert named("a/reviews") == one
    with pytest.raises(UserError, match=f"{one} of a/reviews/train.csv"):
        latest_run("b/reviews", OUT)
    shutil.copytree(OUT / "reviews-data", OUT / "mrpc")
    Path("mrpc").mkdir()
    assert named("mrpc") == one  # a folder of that name that nothing was trained on does not hide a task
    for origin in ("c/old.csv", str(tmp_path / "c/old.csv")):  # records without the hash of the content
        old = trained(written("c/old.csv"), origin=origin, hashed=False, day=int(origin[0] == "c") + 1)
        assert find_run(old, OUT).path.name == old
    assert named("c/old.csv") == "0000000002"
    with pytest.raises(UserError, match="other data of that name"):
        latest_run(written("d/old.csv"), OUT)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_no_file_of_results_names_a_folder_of_a_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert len(listed) > 80
    absolute = re.compile(r"(?<![\w.:/<-])(/(?!/)[\w.-]+){2,}|\b[A-Za-z]:\\\\")
    assert [name for name in listed if absolute.search((ROOT / name).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("{here}/a.csv", "./a.csv"),
        ("{here}/mrpc", "./mrpc"),  # never the task of that name
        ("{above}/data/a.csv", "../data/a.csv"),
        ("{above}/x/../a.csv", "{above}/x/../a.csv"),  # x may be a link
        ("/elsewhere-on-this-machine/a.csv", "/elsewhere-on-this-machine/a.csv"),
        *[(name, name) for name in ("a.csv", "google-bert/bert-base-uncased", "")],
    ],
)
def test_paths_from_here(path: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"here": tmp_path, "above": tmp_path.parent}
    assert from_here(path.format(**names)) == expected.format(**names)
