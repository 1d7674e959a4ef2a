"""What a label column holds, or the question that is asked."""

from pathlib import Path

import pytest
from support.own_data import own_task
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


def labelled(path: Path, labels: list[str]) -> Path:
    path.write_text(as_csv(("text", "mark"), *((f"the cat sat on {i}", one) for i, one in enumerate(labels))))
    return path


def test_a_sentence_among_numbers_does_not_ask_for_the_decimal_sign(tmp_path: Path) -> None:
    marks, sentence = [str(i % 3 + 1) for i in range(60)], "I could not decide, sorry about that, and will look again"
    found = own_task(labelled(tmp_path / "a.csv", [*marks, sentence]))
    assert found.read.layout.shape == "classification"


def test_one_number_with_a_comma_among_classes_offers_classes(tmp_path: Path) -> None:
    path = labelled(tmp_path / "a.csv", [*(str(i % 3 + 1) for i in range(60)), "1,5"])
    with pytest.raises(Ambiguous, match=r"shape=classification \(each of the 4 values is a class\)"):
        own_task(path)
    assert own_task(path, {"shape": "classification"}).read.layout.shape == "classification"
