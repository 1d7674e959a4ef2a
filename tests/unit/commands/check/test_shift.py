"""`check RUN FILE`: whether a file looks like the rows that a run was scored on."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.cli import InProcess, assert_error
from support.predicted_files import predict, written
from support.runs import REVIEWS, FinishedRun, as_csv

import finetune
from finetune.commands.check import shift
from finetune.commands.check.shift import seem_swapped, shift_of
from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.inference.shift.reference import FILE, load_reference

KOREAN = [("review",), *((f"그 고양이가 {i}번 앉아 있었다고 합니다",) for i in range(80))]
KINDS = ("sentence", "regression", "multilabel", "tagging", "span", "choice")


def reviews_like(count: int) -> list[tuple[str, ...]]:
    return [("review",), *((text,) for text, _ in REVIEWS[:count])]


def test_another_language_exits_with_3_and_lists_the_farthest_rows(
    in_process: InProcess, reviews: Path, tmp_path: Path
) -> None:
    written(tmp_path / "new.csv", KOREAN)
    code, out, _ = in_process("check", str(reviews), "new.csv", "--json", data="")
    found = json.loads(out)
    assert (code, found["alike"], found["rows"]) == (3, False, 80)
    assert {"language", "hidden states"} <= {*found["shifted"]}
    language = found["changes"]["language"]
    assert language["p"] < 0.05
    assert "Hangul letters 0 %" in language["was"]
    assert "Hangul letters 100 %" in language["now"]
    assert {one["line"] - one["row"] for one in found["farthest"]} == {1}
    code, out, _ = in_process("check", str(reviews), "new.csv", data="")
    assert code == 3
    assert "far away" in out
    assert out.splitlines()[-1].startswith("new.csv: does not look like")


def test_python_compares_rows_in_memory_as_the_command_does_a_file(
    in_process: InProcess, reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "new.csv", KOREAN)
    told = json.loads(in_process("check", str(reviews), "new.csv", "--json", data="")[1])
    rows = pd.DataFrame({"text": [text for (text,) in KOREAN[1:]]})
    found = finetune.check_new(finetune.open_run(reviews), rows, text="text")
    assert found.as_json() | {"file": "new.csv"} == told | {"farthest": found.as_json()["farthest"]}
    assert set(found.frame.loc[found.frame["shifted"], "name"]) == set(found.shifted)
    assert repr(found).startswith("<ShiftReport of 80 rows next to ")
    assert capsys.readouterr() == ("", "")
    for wrong, words in (({"level": 2}, "level is 2"), ({}, "no column 'review'")):
        with pytest.raises(finetune.UserError, match=words):
            finetune.check_new(reviews, rows, **wrong)


def test_rows_like_those_of_training_exit_with_0(in_process: InProcess, reviews: Path, tmp_path: Path) -> None:
    written(tmp_path / "new.csv", reviews_like(80))
    code, out, _ = in_process("check", str(reviews), "new.csv", "--level", "0.01", data="")
    assert (code, out.splitlines()[-1]) == (0, "new.csv: looks alike")


@pytest.mark.parametrize("kind", KINDS)
def test_each_task_type_is_compared(finished_run: FinishedRun, tmp_path: Path, kind: str) -> None:
    run = finished_run(kind)
    (file,) = (file for file in run.parents[2].iterdir() if file.is_file())
    data = tmp_path / file.name
    data.write_text(file.read_text() + "\n")  # other than the file of training, of which less is compared
    found = shift_of(str(run), data, {}, out=Path("results"), level=0.05)
    names = {change.name for change in found.changes}
    assert {"length", "predictions", "hidden states"} <= names
    assert ("columns" in names) == (kind in ("regression", "span", "choice"))
    assert found.unusable == 0


def test_a_run_without_a_reference_has_its_predictions_for_dev(
    monkeypatch: pytest.MonkeyPatch, finished_run: FinishedRun, tmp_path: Path
) -> None:
    run, new = finished_run("sentence"), written(tmp_path / "new.csv", KOREAN)
    stored = load_reference(run / "model")
    assert stored is not None
    monkeypatch.setattr(shift, "load_reference", lambda _: None)
    found = shift_of(str(run), new, {}, out=Path("results"), level=0.05)
    assert "language" in found.shifted
    assert found.reference == len(stored.dev["length"])
    moved = shutil.copytree(run / "model", tmp_path / "moved")
    with pytest.raises(UserError, match=r"moved: has no reference\.npz"):
        shift_of(str(moved), new, {}, out=Path("results"), level=0.05)


def test_a_reference_is_the_same_computed_later(monkeypatch: pytest.MonkeyPatch, finished_run: FinishedRun) -> None:
    run = finished_run("sentence")
    stored = load_reference(run / "model")
    assert stored is not None
    monkeypatch.setattr(shift, "load_reference", lambda _: None)
    predictor = load_predictor(run)
    found = shift.reference_of(predictor, shift.measurer_of(predictor), str(run), Path("results"))
    assert found.labels == stored.labels
    for name, values in stored.dev.items():
        assert np.allclose(np.sort(values, 0), np.sort(found.dev[name], 0), atol=2e-2), name


def test_a_moved_model_has_its_reference(in_process: InProcess, reviews: Path, tmp_path: Path) -> None:
    shutil.copytree(reviews / "model", tmp_path / "moved")
    written(tmp_path / "new.csv", KOREAN)
    assert in_process("check", "moved", "new.csv", data="")[0] == 3


def test_rows_without_text_are_a_shift(reviews: Path, tmp_path: Path) -> None:
    rows = [("review", "n"), *((text, "1") for text, _ in REVIEWS[:60]), *[("", "1")] * 6]
    found = shift_of(str(reviews), written(tmp_path / "new.csv", rows), {}, out=Path("results"), level=0.05)
    assert found.unusable == pytest.approx(1 / 11)
    assert found.shifted == ["unusable rows"]
    assert found.notes[0].startswith("9.1 % of the rows cannot be predicted; the first: row 61 has no text")


def test_swapped_texts_are_told() -> None:
    drawn = np.random.default_rng(0)
    old = drawn.normal((2, 0, 6, 1), 1, (80, 4))
    new = drawn.normal((6, 1, 2, 0), 1, (60, 4))
    assert seem_swapped({"columns": old}, {"columns": new})
    assert not seem_swapped({"columns": old}, {"columns": old[:40]})
    assert not seem_swapped({"columns": old}, {"columns": new + 20})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["RUN", "nothing.csv"], ["nothing.csv", "no such file"]),
        (["RUN", "other.csv"], ["review", "text=body"]),
        (["RUN", "empty.csv"], ["empty.csv", "no row that can be predicted"]),
        (["RUN", "head.csv"], ["head.csv", "has no rows"]),
        (["RUN", "new.csv", "txt=review"], ["unknown setting 'txt'", "text"]),
        (["RUN", "new.csv", "temperature=dev"], ["temperature"]),
        (["nothing-here", "new.csv"], ["nothing-here"]),
        (["new.csv", "other.csv"], ["2 things to check"]),
        (["RUN", "new.csv", "--strict"], ["--strict"]),
        (["RUN", "new.csv", "--fix", "fixed.csv"], ["--fix"]),
        (["new.csv", "--level", "0.01"], ["--level"]),
    ],
)
def test_mistakes_are_told_in_one_line(
    in_process: InProcess, reviews: Path, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    written(tmp_path / "new.csv", reviews_like(9))
    written(tmp_path / "other.csv", [("body", "stars"), ("the cat sat", "1")])
    written(tmp_path / "empty.csv", [("review", "n"), ("", "1")])
    written(tmp_path / "head.csv", [("review", "n")])
    code, _, err = in_process("check", *[str(reviews) if one == "RUN" else one for one in arguments], data="")
    assert code == 2
    assert_error(err, *words)


def test_predict_has_a_note_on_another_language_only(reviews: Path, tmp_path: Path) -> None:
    predictor = load_predictor(reviews)
    found = predict(predictor, written(tmp_path / "new.csv", KOREAN), tmp_path / "out.csv")
    note = next(note for note in found.notes if "does not look like" in note)
    assert note.endswith(f"finetune check {reviews} {tmp_path / 'new.csv'}")
    assert "language" in note
    like = written(tmp_path / "like.csv", reviews_like(80))
    assert [n for n in predict(predictor, like, tmp_path / "out2.csv").notes if "look like" in n] == []
    few = written(tmp_path / "few.csv", KOREAN[:40])
    assert [n for n in predict(predictor, few, tmp_path / "out3.csv").notes if "look like" in n] == []


def test_a_damaged_reference_stops_check_and_not_predict(copied_run: FinishedRun, tmp_path: Path) -> None:
    folder = copied_run("sentence") / "model"
    (folder / FILE).write_bytes(b"nothing")
    with pytest.raises(UserError, match=rf"{FILE}: is damaged"):
        load_reference(folder)


def test_the_file_that_a_model_was_trained_on_is_no_shift(
    in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    """On its rows the model is more confident, and those that cannot be used were there in training."""
    rows = [
        (f"the {'cat' if n % 2 else 'dog'} sat {n}" if n % 7 else "", "good" if n % 3 else "bad") for n in range(90)
    ]
    (tmp_path / "mine.csv").write_text(as_csv(("text", "label"), *rows))
    train = ("train.epochs=1", "max_length=16", f"model={tiny_bert}")
    assert in_process("run", "mine.csv", *train, data="")[0] == 0
    code, out, _ = in_process("check", "mine.csv", "mine.csv", data="")
    assert code == 0 and "trained on this file" in out and "predictions" not in out
    (tmp_path / "other.csv").write_text(as_csv(("text", "label"), *rows, rows[1]))
    assert in_process("check", "mine.csv", "other.csv", data="")[0] == 3
