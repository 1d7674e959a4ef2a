"""What a label column holds, or the question that is asked."""

from pathlib import Path

import pytest
from support.runs import as_csv

from finetune.data.reading import read_table
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.guess import guess

DATES = {
    "day": ["2024-01-01", "2024-02-01", "2024-03-01"],
    "written out": ["Jan 1, 2024", "Feb 1, 2024", "Mar 1, 2024"],
    "second": [f"2024-01-{day:02} 10:00:00" for day in range(1, 29)],
    "local": [f"{day:02}/01/2024" for day in range(1, 29)],
}


@pytest.mark.parametrize("kind", DATES)
def test_a_label_of_dates_is_a_question(tmp_path: Path, kind: str) -> None:
    rows = [(f"the cat sat on {i}", DATES[kind][i % len(DATES[kind])], "ab"[i % 2]) for i in range(56)]
    (tmp_path / "rows.csv").write_text(as_csv(("text", "posted", "mark"), *rows))
    table = read_table(tmp_path / "rows.csv")
    with pytest.raises(Ambiguous, match="the column 'posted' has dates") as asked:
        guess(table, {"label": "posted"})
    assert [setting for setting, _ in asked.value.choices] == ["label=mark", "shape=classification"]
    assert guess(table, {"label": "mark"}).label == ("mark",)
    assert len(guess(table, {"label": "posted", "shape": "classification"}).labels) == len(DATES[kind])
