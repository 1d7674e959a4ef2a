"""`finetune.predict`, `finetune.explain` and `finetune.serve`: what the commands give, in Python."""

from pathlib import Path

import httpx
import pandas as pd
import pytest

import finetune

ROWS = pd.DataFrame({"review": ["the cat sat", "the dog sat"], "mark": ["good", "bad"]})


def test_a_file_is_written_and_rows_in_memory_come_back(
    reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = finetune.load(reviews)
    ROWS.to_csv(tmp_path / "new.csv", index=False)
    done = finetune.predict(reviews, tmp_path / "new.csv", path=tmp_path / "out.csv", device="cpu")
    assert (done.path, done.rows, done.errors) == (tmp_path / "out.csv", 2, 0)
    assert "accuracy" in done.scores
    written = pd.read_csv(done.path)["prediction"].tolist()
    for rows in (finetune.predict(model, ROWS), finetune.predict(finetune.open_run(reviews), ROWS, device="cpu")):
        assert rows["prediction"].tolist() == written
    with pytest.raises(finetune.UserError, match="rows in memory"):
        finetune.predict(model, ROWS, path=tmp_path / "no.csv")
    assert capsys.readouterr() == ("", "")


def test_an_explanation_is_that_of_the_model(reviews: Path, tmp_path: Path) -> None:
    pytest.importorskip("captum")
    found = finetune.explain(reviews, "the cat sat", path=tmp_path / "why.html", device="cpu")
    assert found.frame.equals(finetune.load(reviews, device="cpu").explain("the cat sat").frame)
    assert found.path is not None and "<article>" in found.path.read_text()


def test_a_server_answers_in_the_background_until_it_is_stopped(reviews: Path) -> None:
    server = finetune.serve(reviews, port=0, device="cpu")
    found = httpx.post(f"{server.address}/predict", json={"rows": ["the cat sat"]}, timeout=60).json()
    assert set(found["predictions"][0]) == {"prediction", "p(bad)", "p(good)"}
    server.stop()
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{server.address}/health")
