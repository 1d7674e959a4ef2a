"""Choices: which one a label means, what is asked, and rows of fewer choices."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.checked_files import write_jsonl
from support.own_data import offered, own_task, rows_of
from support.toys import choice_task
from support.training import build

from finetune.data.source import Source
from finetune.models.batch import collate
from finetune.runs.recipe import Train

WORDS = ("river", "market", "garden", "window", "letter", "winter", "valley", "bridge")


def text(number: int, words: int = 6) -> str:
    return " ".join(WORDS[(number * 7 + place * 3 + number // 8) % 8] for place in range(words)) + f" {number}"


def exam(folder: Path, count: int = 60, **columns: Any) -> Path:
    """A question with three choices, but for the columns that are changed."""
    made = {"question": lambda i: text(i, 12), "label": lambda i: i % 3}
    made |= {f"choice{n + 1}": lambda i, n=n: text(i + n) for n in range(3)} | columns
    rows = [{name: make(i) for name, make in made.items() if make} for i in range(count)]
    return write_jsonl(folder / "rows.jsonl", rows)


@pytest.mark.parametrize(("first", "stray"), [(0, 3), (1, 0)])
def test_one_wrong_label_moves_no_others(first: int, stray: int, tmp_path: Path) -> None:
    """A label 3 among 0, 1 and 2, or a 0 among 1, 2 and 3, is one row that cannot be used."""
    found = rows_of(exam(tmp_path, label=lambda i: stray if i == 5 else first + i % 3))
    assert [(int(row.id), row.gold) for row in found] == [(i + 1, i % 3) for i in range(60) if i != 5]


@pytest.mark.parametrize("label", [lambda i: 1 + i % 2, lambda i: 0 if i == 5 else 1 + i % 2])
def test_numbers_that_count_from_0_or_from_1_are_asked_about(label: Any, tmp_path: Path) -> None:
    none = dict.fromkeys(("choice1", "choice2", "choice3"))
    data = exam(tmp_path, 300, **none, choices=lambda i: [text(i), text(i + 1), text(i + 2)], label=label)
    assert offered(data) == ["choices_by=0", "choices_by=1"]
    for way in (0, 1):
        loaded = own_task(data, {"choices_by": str(way)}).load(Source(), "train").rows
        assert {(row.gold - label(int(row.id) - 1)) for row in loaded} == {-way}


def test_a_label_that_is_a_number_and_the_text_of_another_choice_is_asked_about(tmp_path: Path) -> None:
    columns: dict[str, Any] = {f"choice{1 + n}": lambda i, n=n: str(1 + (i + n) % 3) for n in range(3)}
    data = exam(tmp_path, **columns, label=lambda i: 1 + i % 3)
    assert offered(data) == ["choices_by=text", "choices_by=1"]
    assert [row.choices[row.gold] for row in rows_of(data, {"choices_by": "text"})] == [
        str(1 + i % 3) for i in range(60)
    ]


def test_rows_whose_choices_say_nothing_are_left_out(tmp_path: Path) -> None:
    """A row of one choice only, and one whose label may count the empty choice or not."""
    same: dict[str, Any] = {f"choice{n}": lambda i, n=n: text(i if i == 5 else i + n) for n in (1, 2, 3)}
    for columns, why in ((same, "as each of its"), ({"choice1": lambda i: "" if i == 5 else text(i)}, "an empty one")):
        loaded = own_task(exam(tmp_path, **columns)).load(Source(), "train")
        assert why in " ".join(loaded.notes) and "6" not in {row.id for row in loaded.rows}


def test_fewer_choices_are_masked_and_change_nothing(tiny_bert: Path) -> None:
    """A row next to others with more choices has the logits, the loss and the probabilities that it has alone."""
    trainer, features = build(choice_task(), tiny_bert, Train(dropout=0.0))
    assert sorted({len(feature.choices) for feature in features}) == [2, 3, 4]
    model = trainer.model.eval()
    with torch.no_grad():
        batch = collate(features[:6], pad_id=0)
        together = model(*batch.inputs())
        alone = [model(*collate([feature], pad_id=0).inputs())[0] for feature in features[:6]]
        losses = [model.head.loss(given[None], batch.labels["label"][i : i + 1]) for i, given in enumerate(alone)]
    for row, given in zip(together, alone, strict=True):
        assert torch.allclose(row[: len(given)], given, atol=1e-5) and torch.isinf(row[len(given) :]).all()
    assert float(model.head.loss(together, batch.labels["label"])) == pytest.approx(float(sum(losses)), abs=1e-4)
    answers = choice_task().decode(trainer.engine.logits(features), features, [])
    assert all(sum(answer.probabilities) == pytest.approx(1) for answer in answers)
