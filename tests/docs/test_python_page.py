"""The pages on the Python API, and on labels that are wrong: their code runs, and finds what they say."""

import os
import random
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from support.page_data import write_own_data
from support.pages import DOCS, KOREAN, blocks, page_name
from support.toys import cat_rows

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


@pytest.mark.nightly
def test_the_script_of_the_page_on_labels_finds_most_of_those_that_were_changed(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 of 400 labels are wrong: at least 15 of them are among the first 40 rows, where chance would find 2."""
    rows, other = cat_rows(400), {"yes": "no", "no": "yes"}
    changed = set(random.Random(0).sample(range(400), 20))
    marks = [other[str(row.gold)] if number in changed else row.gold for number, row in enumerate(rows)]
    pd.DataFrame({"text": [row.text for row in rows], "label": marks}).to_csv(tmp_path / "reviews.csv", index=False)
    monkeypatch.chdir(tmp_path)
    (code,) = (block for block in blocks("python", DOCS / "how-to" / "labels.md") if "finetune.label_errors" in block)
    learns = {"learning_rate": 2e-3, "epochs": 3, "batch_size": 16}
    code = code.replace('model="minilm"', f"model={str(tiny_bert)!r}, max_length=32, train={learns}")
    exec(compile(code.replace(", progress=True", ""), "labels.md", "exec"), {})
    ranked = pd.read_csv("ranked.csv")
    assert sorted(ranked["id"]) == list(range(1, 401)) and ranked["belief"].is_monotonic_increasing
    assert len({number - 1 for number in ranked["id"][:40]} & changed) >= 15
    assert not (tmp_path / "results").exists()
