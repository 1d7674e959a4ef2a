"""The pages on the Python API: every block of their code runs, one after the other."""

import os
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from support.page_data import write_own_data
from support.pages import DOCS, KOREAN, blocks, page_name

import finetune
from finetune.api.callbacks import METHODS

PAGE, PAGE_KO = (folder / "how-to" / "python.md" for folder in (DOCS, KOREAN))


@pytest.mark.nightly
@pytest.mark.parametrize("page", [PAGE, PAGE_KO], ids=page_name)
def test_every_block_of_the_page_runs(
    page: Path,
    tmp_path: Path,
    page_data: Path,
    tiny_bert: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    matplotlib.use("agg")
    write_own_data(tmp_path)
    if page is PAGE_KO:
        reviews = (tmp_path / "reviews.csv").read_text(encoding="utf-8")
        (tmp_path / "reviews.csv").write_text(reviews.replace("text,label", "리뷰,평가", 1), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINETUNE_DATA", str(page_data.parent))
    names: dict[str, object] = {}
    for number, block in enumerate(blocks("python", page), start=1):
        code = block.replace('"minilm"', repr(str(tiny_bert)))
        exec(compile(code, f"block {number} of {page.name}", "exec"), names)
    assert "has no column 'stars' (label=stars)" in capsys.readouterr().out
    assert isinstance(names["comparison"], finetune.Comparison)
    assert isinstance(names["wrong"], pd.DataFrame)
    assert os.path.getsize("both.html") > 10_000  # noqa: PTH202


def test_the_page_names_every_function_class_and_method() -> None:
    for page in (PAGE, PAGE_KO):
        text = page.read_text(encoding="utf-8")
        assert [name for name in finetune.__all__ if f"`{name}`" not in text] == [], page
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in METHODS if f"`{name}`" not in text and name != "on_rows_predicted"] == []
