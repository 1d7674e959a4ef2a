"""docs/how-to/labels.md: its script finds labels that were changed."""

import random
from pathlib import Path

import pandas as pd
import pytest
from support.pages import blocks
from support.paths import ROOT
from support.toys import cat_rows

PAGE = ROOT / "docs" / "how-to" / "labels.md"
LEARNS = {"learning_rate": 2e-3, "epochs": 3, "batch_size": 16}
OTHER = {"yes": "no", "no": "yes"}


@pytest.mark.nightly
def test_the_script_of_the_page_finds_most_of_the_changed_labels(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 of 400 labels are wrong: at least 15 of them are among the first 40 rows, where chance would find 2."""
    rows = cat_rows(400)
    changed = set(random.Random(0).sample(range(400), 20))
    marks = [OTHER[str(row.gold)] if number in changed else row.gold for number, row in enumerate(rows)]
    pd.DataFrame({"text": [row.text for row in rows], "label": marks}).to_csv(tmp_path / "reviews.csv", index=False)
    monkeypatch.chdir(tmp_path)
    (code,) = (block for block in blocks("python", PAGE) if "finetune.label_errors" in block)
    code = code.replace('model="minilm"', f"model={str(tiny_bert)!r}, max_length=32, train={LEARNS}").replace(
        ", progress=True", ""
    )
    exec(compile(code, PAGE.name, "exec"), {})
    ranked = pd.read_csv("ranked.csv")
    assert sorted(ranked["id"]) == list(range(1, 401))
    assert ranked["belief"].is_monotonic_increasing
    found = {number - 1 for number in ranked["id"][:40]} & changed
    assert len(found) >= 15
    assert not (tmp_path / "results").exists()
