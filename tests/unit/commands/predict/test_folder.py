"""`finetune predict` of a folder of Parquet files: each output is written when whole, and only once."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cli import InProcess, assert_error

TEXTS = [f"the {'cat' if i % 2 else 'dog'} sat {i}" for i in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, one in a Hive partition, and one without rows."""
    (tmp_path / "in" / "year=2026").mkdir(parents=True)
    for name, start, end in (("a", 0, 25), ("year=2026/b", 25, 60), ("empty", 0, 0)):
        cells = {"n": pa.array(range(start, end), pa.int64()), "review": pa.array(TEXTS[start:end], pa.string())}
        pq.write_table(pa.table(cells), tmp_path / "in" / f"{name}.parquet")
    return tmp_path / "in"


def test_each_file_has_an_output_and_is_predicted_once(
    in_process: InProcess, reviews: Path, folder: Path, tmp_path: Path
) -> None:
    command = ("predict", str(reviews), "in", "-o", "out")
    code, out, err = in_process(*command, "--quiet", data=tmp_path)
    assert (code, err, out.count("rows in")) == (0, "", 2)
    for name in ("a", "year=2026/b"):
        before, after = (pq.ParquetFile(tmp_path / one / f"{name}.parquet").read() for one in ("in", "out"))
        assert after.select(before.column_names).equals(before)
        assert after.column_names[2:] == ["prediction", "p(bad)", "p(good)"]
    outputs = [tmp_path / "out" / "a.parquet", tmp_path / "out" / "year=2026" / "b.parquet"]
    assert sorted((tmp_path / "out").rglob("*.parquet")) == outputs
    times = [output.stat().st_mtime_ns for output in outputs]
    assert "every file is predicted already" in in_process(*command, data=tmp_path)[1]
    assert [output.stat().st_mtime_ns for output in outputs] == times
    outputs[0].write_bytes(outputs[0].read_bytes()[:-9])  # as a copy that was cut off
    os.utime(folder / "year=2026" / "b.parquet")  # a file that was written after its output
    code, out, _ = in_process(*command, "--quiet", data=tmp_path)
    assert (code, out.count("rows in")) == (0, 2)


def test_files_of_another_model_are_not_taken_for_its_own(
    in_process: InProcess, reviews: Path, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    pq.write_table(pa.table({"review": TEXTS[:25]}), tmp_path / "out" / "a.parquet")
    code, _, err = in_process("predict", str(reviews), "in", "-o", "out", "--quiet", data=tmp_path)
    assert code == 2
    assert_error(err, "another model")


def test_a_file_that_cannot_be_read_stops_no_other(
    in_process: InProcess, reviews: Path, folder: Path, tmp_path: Path
) -> None:
    (folder / "year=2026" / "b.parquet").write_bytes(b"PAR1")
    code, out, err = in_process("predict", str(reviews), "in", "-o", "out", "--quiet", data=tmp_path)
    assert code == 2
    assert "25 rows in" in out
    assert_error(err, "1 of 3 files is not predicted", "b.parquet")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["in"], ["into a folder"]),
        (["in", "-o", "in"], ["in", "another folder"]),
        (["in", "-o", "in/out"], ["in/out", "another folder"]),
        (["in", "-o", "file.txt"], ["into a folder"]),
        (["in", "-o", "s3://bucket/out"], ["folder of this machine"]),
        (["in", "-o", "out", "txt=review"], ["'txt'", "Did you mean 'text'"]),
        (["in", "-o", "out", "text=revue"], ["'revue'", "'review'"]),
        (["in", "-o", "out", "--escape-formulas"], ["--escape-formulas"]),
        (["in/a.parquet", "one.csv", "-o", "out"], ["one.csv", "Name a folder"]),
        (["in", "-o", "out", "--workers", "2"], ["'--workers' was taken out"]),
        (["in", "-o", "out", "--on", "slurm"], ["'slurm' was taken out"]),
        (["one.csv", "--on", "ray"], ["`--on` is for a folder of Parquet"]),
    ],
    ids=" ".join,
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
    monkeypatch.setattr("finetune.commands.predict.command.load_for", None)
    (tmp_path / "file.txt").touch()
    (tmp_path / "one.csv").write_text("review\nthe cat\n")
    code, out, err = in_process("predict", str(reviews), *arguments, data=tmp_path)
    assert (code, out) == (2, "")
    assert_error(err, *words)
    assert not list((tmp_path / "out").rglob("*"))


@pytest.mark.nightly
def test_on_ray_the_rows_have_the_same_predictions(
    in_process: InProcess, reviews: Path, folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    (folder / "empty.parquet").unlink()
    assert in_process("predict", str(reviews), "in", "-o", "here", "--quiet", data=tmp_path)[0] == 0
    code, out, err = in_process("predict", str(reviews), "in", "-o", "out", "--on", "ray", data=tmp_path)
    assert code == 0, err
    assert "60 rows -> out" in out
    predicted = []
    for name in ("here", "out"):
        rows = [row for file in (tmp_path / name).rglob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]
        predicted.append({row["review"]: row["prediction"] for row in rows})
    assert len(predicted[0]) == 60 and predicted[0] == predicted[1]
    code, _, err = in_process("predict", str(reviews), "in", "-o", "out", "--on", "ray", data=tmp_path)
    assert code == 2
    assert_error(err, "out: is not empty")
