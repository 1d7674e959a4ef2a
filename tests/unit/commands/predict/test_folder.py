"""`finetune predict` of several Parquet files: what it prints, and what is wrong before anything is loaded."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cli import InProcess, assert_error
from support.parquet_folders import is_complete, write_folder
from support.runs import as_csv

from finetune.commands.predict import files as predict_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "in")


def test_a_folder_a_pattern_and_its_files(in_process: InProcess, reviews: Path, folder: Path, tmp_path: Path) -> None:
    code, out, err = in_process("predict", str(reviews), "in", "-o", "out", "--quiet", data=tmp_path)
    assert (code, err) == (0, "")
    assert "60 rows in 3 files" in out
    files = sorted(str(file.relative_to(tmp_path)) for file in folder.rglob("*.parquet"))
    code, out, _ = in_process("predict", str(reviews), *files, "-o", "out", "--json", "--quiet", data=tmp_path)
    assert (code, json.loads(out)["resumed"]) == (0, 60)
    code, out, _ = in_process("predict", str(reviews), "in/*/*.parquet", "-o", "other", "--json", data=tmp_path)
    assert (code, json.loads(out)["rows"]) == (0, 35)
    assert (tmp_path / "other" / "year=2026" / "b.parquet").exists()


def test_one_file_into_a_folder_and_into_a_file(
    in_process: InProcess, reviews: Path, folder: Path, tmp_path: Path
) -> None:
    assert in_process("predict", str(reviews), "in/a.parquet", "-o", "out/", "--quiet", data=tmp_path)[0] == 0
    assert in_process("predict", str(reviews), "in/a.parquet", "-o", "a.parquet", "--quiet", data=tmp_path)[0] == 0
    several, single = (pq.read_table(tmp_path / name / "a.parquet") for name in ("out", "."))
    assert several.select(single.column_names).to_pylist() == single.to_pylist()


def test_a_file_that_cannot_be_read(in_process: InProcess, reviews: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "a.parquet").write_bytes(b"PAR1")
    code, out, err = in_process("predict", str(reviews), "in", "-o", "out", "--quiet", data=tmp_path)
    assert code == 2
    assert "35 rows in 2 files" in out
    assert_error(err, "1 of 3 files", "a.parquet", "cannot be read")
    assert not is_complete(tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["in"], ["folder for the output"]),
        (["in", "-o", "in"], ["in", "another folder"]),
        (["in", "-o", "in/out"], ["in/out", "another folder"]),
        (["in", "-o", "no/out"], ["no/out", "no such folder"]),
        (["in", "-o", "file.txt"], ["file.txt", "need a folder"]),
        (["in", "-o", "s3://bucket/out"], ["folder of this machine"]),
        (["in", "-o", "out", "label=stars"], ["'label'", "finetune evaluate"]),
        (["in", "-o", "out", "txt=review"], ["'txt'", "Did you mean 'text'"]),
        (["in", "-o", "out", "text=revue"], ["'revue'", "'review'"]),
        (["in", "-o", "out", "--escape-formulas"], ["--escape-formulas"]),
        (["in", "-o", "out", "--workers", "0"], ["--workers"]),
        (["in/a.parquet", "one.csv", "-o", "out"], ["one.csv", "not a .parquet file"]),
        (["one.csv", "--workers", "2"], ["--workers"]),
        (["absent://b/*.parquet", "-o", "out"], ["absent://", "Protocol not known"]),
        (["none*.parquet", "-o", "out"], ["none", "no .parquet file"]),
    ],
)
def test_before_anything_is_loaded(
    in_process: InProcess,
    reviews: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
) -> None:
    monkeypatch.setattr(predict_files, "load_for", None)
    (tmp_path / "file.txt").touch()
    (tmp_path / "one.csv").write_text("review\nthe cat\n")
    before = sorted(tmp_path.rglob("*"))
    code, out, err = in_process("predict", str(reviews), *arguments, data=tmp_path)
    assert (code, out) == (2, "")
    assert_error(err, *words)
    assert sorted(tmp_path.rglob("*")) == before


def test_of_a_ranking_the_folder_has_scores_and_says_so(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    rows = [(f"where is cat {i}", f"the animal {i} of {k} sat", int(k == i % 4)) for i in range(12) for k in range(4)]
    (tmp_path / "asked.csv").write_text(as_csv(("query", "passage", "relevance"), *rows))
    settings = ("shape=ranking", "train.epochs=1", "max_length=32", f"model={tiny_bert}")
    code, _, err = in_process("run", "asked.csv", *settings, data="")
    assert code == 0, err
    (tmp_path / "pool").mkdir()
    queries, passages, _ = zip(*rows, strict=True)
    for name in ("a", "b"):
        pq.write_table(pa.table({"query": queries, "passage": passages}), tmp_path / "pool" / f"{name}.parquet")
    code, out, err = in_process("predict", "asked.csv", "pool", "-o", "out", data="")
    assert code == 0 and "without `rank`" in out + err
    assert "rank" not in pq.read_schema(tmp_path / "out" / "a.parquet").names
    code, out, err = in_process("predict", "asked.csv", "pool/a.parquet", "-o", "one.parquet", data="")
    assert code == 0 and "without `rank`" not in out + err
    assert "rank" in pq.read_schema(tmp_path / "one.parquet").names
