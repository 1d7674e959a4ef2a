"""A prediction that was interrupted is resumed, and only where it is the same."""

from pathlib import Path

import pytest
from support.predicted_files import predict, read, written
from support.runs import REVIEWS

from finetune.errors import UserError
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import Predictor
from finetune.runs.events import Event, RowsPredicted


def test_it_goes_on_after_an_interruption(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), *((text,) for text, _ in REVIEWS * 3)])
    whole = tmp_path / "whole.csv"
    predict(reviewer, path, whole)

    def stopped(event: Event) -> None:
        if isinstance(event, RowsPredicted) and event.done >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=stopped)
    (part,) = tmp_path.glob(".out.csv*")
    part.write_bytes(part.read_bytes() + b'{"half a li')  # as a power cut would leave it
    found = predict(reviewer, path, tmp_path / "out.csv")
    assert (found.resumed, found.rows) == (64, 240)
    first, second = read(whole), read(tmp_path / "out.csv")
    assert [line["answer"] for line in first] == [line["answer"] for line in second]
    assert [line["review"] for line in first] == [line["review"] for line in second]
    assert not list(tmp_path.glob(".out*"))


def test_two_at_one_output_do_not_spoil_it(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat sat",)])

    def second(event: Event) -> None:
        if isinstance(event, RowsPredicted):
            with pytest.raises(UserError, match="another process"):
                predict(reviewer, path, tmp_path / "out.csv")

    predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=second)
    assert read(tmp_path / "out.csv")[0]["answer"] == "good"


def test_another_file_is_not_gone_on_with(reviewer: Predictor, tmp_path: Path) -> None:
    def stopped(event: Event) -> None:
        if isinstance(event, RowsPredicted):
            raise KeyboardInterrupt

    rows = [("review",), *((text,) for text, _ in REVIEWS * 3)]
    with pytest.raises(KeyboardInterrupt):
        predict_file(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv", options={}, watch=stopped)
    found = predict(reviewer, written(tmp_path / "new.csv", rows[:-1]), tmp_path / "out.csv")
    assert (found.resumed, found.rows) == (0, 239)
