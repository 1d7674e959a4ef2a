"""`finetune predict` and `finetune explain` in Python, and what is wrong before anything is loaded."""

from pathlib import Path

import pandas as pd
import pytest

import finetune

ROWS = pd.DataFrame({"review": ["the cat sat", "the dog sat"], "mark": ["good", "bad"]})


def test_files_and_rows_in_memory(reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = finetune.load(reviews)
    ROWS.to_csv(tmp_path / "new.csv", index=False)
    done = finetune.predict(reviews, tmp_path / "new.csv", path=tmp_path / "out.csv", device="cpu")
    assert (done.path, done.rows, done.errors) == (tmp_path / "out.csv", 2, 0)
    assert done.scores["accuracy"] == 1
    written = pd.read_csv(done.path)["prediction"].tolist()
    for rows in (finetune.predict(model, ROWS), finetune.predict(finetune.open_run(reviews), ROWS, device="cpu")):
        assert rows["prediction"].tolist() == written == ["good", "bad"]
    with pytest.raises(finetune.UserError, match="rows in memory"):
        finetune.predict(model, ROWS, path=tmp_path / "no.csv")
    assert capsys.readouterr() == ("", "")
