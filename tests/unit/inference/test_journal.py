"""A prediction that was interrupted is resumed, and only where it is the same."""

import re
from pathlib import Path
from random import Random

import pytest
from support.predicted_files import predict, read, written
from support.runs import DATA, REVIEWS, FinishedRun

from finetune.errors import UserError
from finetune.inference import predict_file as predicting
from finetune.inference import predictor as predictors
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import Predictor
from finetune.runs.events import Event, RowsPredicted


def interrupted(predictor: Predictor, path: Path, output: Path, *, after: int) -> Path:
    """The journal of an attempt that was stopped after so many rows."""

    def stopped(event: Event) -> None:
        if isinstance(event, RowsPredicted) and event.done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(predictor, path, output, options={}, watch=stopped)
    return output.with_name(f".{output.name}.part.jsonl")


@pytest.fixture
def reviews_file(tmp_path: Path) -> Path:
    """Texts of many lengths, so that sorting by length puts other rows into a batch if the windows differ."""
    texts = [f"{text} {'the cat sat on it ' * (i % 9)}" for i, (text, _) in enumerate(REVIEWS * 3)]
    return written(tmp_path / "new.csv", [("review",), *((text,) for text in texts)])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_resumed_prediction_is_the_same_byte_by_byte(
    reviewer: Predictor, reviews_file: Path, tmp_path: Path, suffix: str
) -> None:
    """The journal is cut at any byte: in its first line, in a window, and in the line that ends one."""
    whole, output = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    predict(reviewer, reviews_file, whole)
    journal = interrupted(reviewer, reviews_file, output, after=192).read_bytes()
    ends = [match.end() for match in re.finditer(rb"^\[.*\n", journal, re.MULTILINE)]
    cuts = [0, 5, *(end + more for end in ends for more in (-70, -1, 0, 9) if end + more <= len(journal))]
    for cut in cuts:
        part = output.with_name(f".{output.name}.part.jsonl")
        part.write_bytes(journal[:cut])
        found = predict(reviewer, reviews_file, output)
        before = sum(end <= cut for end in ends)
        assert (found.resumed, found.rows) == ([0, 64, 192][before], 240)
        assert output.read_bytes() == whole.read_bytes()
        assert any("predicted again" in note for note in found.notes) == (cut not in (0, 5, *ends))
        assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("kind", ["regression", "multilabel", "tagging", "intent", "overlapping", "span", "choice"])
def test_every_task_type_resumes_the_same(kind: str, finished_run: FinishedRun, tmp_path: Path) -> None:
    predictor = predictors.load_predictor(finished_run(kind))
    name, content, _ = DATA[kind]
    rows = content.splitlines(keepends=True)
    header = rows[:1] if name.endswith(".csv") else []
    data = tmp_path / name
    data.write_text("".join([*header, *rows[len(header) :] * 9]))
    predict(predictor, data, tmp_path / "whole.jsonl")
    interrupted(predictor, data, tmp_path / "out.jsonl", after=64)
    assert predict(predictor, data, tmp_path / "out.jsonl").resumed == 64
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_damaged_journal_gives_no_wrong_row(reviewer: Predictor, reviews_file: Path, tmp_path: Path) -> None:
    whole, output = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    predict(reviewer, reviews_file, whole)
    part = interrupted(reviewer, reviews_file, output, after=192)
    journal = part.read_bytes()
    windows = [0, *[match.end() for match in re.finditer(rb"\n", journal)][1:]]
    random = Random(0)
    for place in [10, *(random.randrange(len(journal)) for _ in range(8)), *(end - 2 for end in windows[1:])]:
        damaged = bytearray(journal)
        damaged[place] ^= 1 << random.randrange(7)
        part.write_bytes(damaged)
        found = predict(reviewer, reviews_file, output)
        assert output.read_bytes() == whole.read_bytes(), place
        assert found.resumed == [0, 64, 192][max(0, sum(end <= place for end in windows) - 1)]
        assert any("predicted again" in note for note in found.notes)


@pytest.mark.parametrize("what", ["versions", "device"])
def test_a_journal_of_other_numbers_is_not_reused(
    reviewer: Predictor, reviews_file: Path, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(reviewer, reviews_file, tmp_path / "out.csv", after=64)
    if what == "versions":
        monkeypatch.setattr(predicting, "versions", lambda: {"torch": "0.1"})
    else:
        monkeypatch.setattr(type(reviewer.engine.accelerator), "mixed_precision", "other")
    found = predict(reviewer, reviews_file, tmp_path / "out.csv")
    assert found.resumed == 0
    assert any("of another file, model, version or device" in note for note in found.notes)


def test_two_at_one_output_do_not_spoil_it(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat sat",)])

    def second(event: Event) -> None:
        if isinstance(event, RowsPredicted):
            with pytest.raises(UserError, match="another process"):
                predict(reviewer, path, tmp_path / "out.csv")

    predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=second)
    assert read(tmp_path / "out.csv")[0]["prediction"] == "good"


def test_the_journal_of_another_file_is_not_resumed(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [("review",), *((text,) for text, _ in REVIEWS * 3)]
    interrupted(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv", after=64)
    found = predict(reviewer, written(tmp_path / "new.csv", rows[:-1]), tmp_path / "out.csv")
    assert (found.resumed, found.rows) == (0, 239)
