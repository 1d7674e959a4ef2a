"""What is kept of training rows."""

from pathlib import Path

import numpy as np
import pytest

from finetune.runs import training_rows
from finetune.runs.training_rows import read_training_rows, write_training_rows


def test_of_many_rows_those_believed_least_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_rows, "MOST_KEPT", 2)
    chances = np.array([[0.9, 0.9], [0.1, 0.3], [0.2, np.nan], [0.5, 0.5]])
    names = list("abcd")
    write_training_rows(tmp_path / "rows.parquet", names, names, names, chances)
    kept = read_training_rows(tmp_path / "rows.parquet")
    assert kept is not None
    assert list(kept.ids) == ["b", "d"]  # a is believed most, c was seen once
