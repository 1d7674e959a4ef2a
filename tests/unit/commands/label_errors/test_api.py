"""`finetune.label_errors`: every row is judged by a model that did not learn it, and no run is left."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.toys import cat_rows

import finetune
from finetune.commands import label_errors as labels
from finetune.commands.label_errors import in_folds
from finetune.task_types.types import named_type

LEARNS = {"learning_rate": 2e-3, "epochs": 3, "batch_size": 16}
OTHER = {"yes": "no", "no": "yes"}


def seen_runs(monkeypatch: pytest.MonkeyPatch) -> list[finetune.Run]:
    """The runs of all folds that are trained from now on."""
    runs, trained = list[finetune.Run](), labels._trained
    monkeypatch.setattr(labels, "_trained", lambda *a, **k: runs.append(trained(*a, **k)) or runs[-1])
    return runs


def test_every_row_is_judged_and_changed_labels_come_first(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = seen_runs(monkeypatch)
    rows, changed = cat_rows(160), {3, 50, 90, 120}
    marks = [OTHER[str(row.gold)] if number in changed else row.gold for number, row in enumerate(rows)]
    frame = pd.DataFrame({"body": [row.text for row in rows], "mark": marks})
    found = finetune.label_errors(
        frame, text="body", label="mark", model=tiny_bert, folds=2, max_length=32, train=LEARNS
    )
    assert sorted(map(int, found["id"])) == list(range(1, 161))
    assert found["belief"].is_monotonic_increasing
    assert list(found.columns) == ["id", "text", "gold", "prediction", "label_probability", "belief"]
    assert len({int(name) - 1 for name in found["id"][:16]} & changed) >= 3
    assert list(tmp_path.iterdir()) == []
    assert [run.record.selected_epoch for run in runs] == [len(run.record.epochs) for run in runs] == [3, 3]
    assert {run.record.recipe["train"]["select"] for run in runs} == {"last"}  # of 80 rows a run chooses the best


@pytest.mark.nightly
def test_a_fold_is_judged_after_two_epochs(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before wrong labels are learned by heart, unless the user says otherwise."""
    runs = seen_runs(monkeypatch)
    frame = pd.DataFrame({"text": [row.text for row in cat_rows(60)], "label": [row.gold for row in cat_rows(60)]})
    for given in ({}, {"train": {"epochs": 1}}, {"frozen": True, "train": {"solver": "logistic"}}):
        finetune.label_errors(frame, model=tiny_bert, folds=2, max_length=32, **given)  # type: ignore[arg-type]
    assert [run.record.recipe["train"]["epochs"] for run in runs[::2]] == [2, 1, 2]


@pytest.mark.parametrize(
    ("cells", "given", "said"),
    [
        ({"text": ["a b", "c d"] * 9, "label": ["x", "y"] * 9}, {"folds": 1}, "at least 2"),
        ({"text": ["a b", "c d"] * 9, "label": ["x", "y"] * 9}, {"folds": 3}, "2 different texts"),
        ({"text": ["a b", "c d"] * 9, "label": ["x", "y"] * 9}, {"train": {"select": "best"}}, "train.select"),
        ({"text": ["a b", "c d"] * 9, "label": ["x", "y"] * 9}, {"train": {"patience": 2}}, "train.patience"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    tiny_bert: Path, cells: dict[str, list[object]], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(finetune.UserError, match=said):
        finetune.label_errors(pd.DataFrame(cells), model=tiny_bert, **given)  # type: ignore[arg-type]


WORDS = [{"words": row.text.split()[:4], "tags": ["B-PET", "O", "O", "O"]} for row in cat_rows(40)]
SEVERAL = [{"text": row.text, "label": [str(row.gold), "pet"]} for row in cat_rows(40)]
NUMBERS = [{"text": row.text, "label": 1.25 if row.gold == "yes" else 3.5} for row in cat_rows(40)]
ANSWERS = [{"question": "who?", "context": row.text, "answers": row.text.split()[0]} for row in cat_rows(40)]
CHOICES = [
    {"context": f"who is {row.id}?", "a": "cat", "b": row.text, "label": int(row.gold == "no")} for row in cat_rows(40)
]
OTHERS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], set[str]]] = {
    "tagging": (WORDS, {"text": "words", "label": "tags"}, {"words", "doubted", "predicted_there"}),
    "multi-label": (SEVERAL, {}, {"text", "doubted", "predicted_there"}),
    "regression": (NUMBERS, {"train": LEARNS}, {"text"}),
    "span": (ANSWERS, {"text": ["question", "context"], "label": "answers"}, {"question", "context"}),
    "choice": (CHOICES, {"text": ["context", "a", "b"], "label": "label"}, {"context", "choices"}),
}


@pytest.mark.parametrize(
    "kind", ["tagging", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in [*OTHERS][1:])]
)
def test_labels_of_each_type_are_judged(tiny_bert: Path, kind: str) -> None:
    rows, given, columns = OTHERS[kind]
    settings = {"shape": kind, "train": {"epochs": 1, "batch_size": 16}} | given
    found = finetune.label_errors(pd.DataFrame(rows), model=tiny_bert, folds=2, max_length=48, **settings)
    assert len(found) == len(rows) and found["belief"].is_monotonic_increasing
    chance = set() if kind == "regression" else {"label_probability"}
    assert {*found.columns} == {"id", "gold", "prediction", "belief"} | columns | chance
    assert np.isfinite(found["belief"]).all()


def test_folds_are_stratified_and_keep_equal_texts_together() -> None:
    rows = [row for row in cat_rows(60) for _ in range(2)]
    parts = in_folds(named_type("classification"), rows, 4)  # type: ignore[arg-type]
    assert sorted(index for part in parts for index in part) == list(range(120))
    where = {index: number for number, part in enumerate(parts) for index in part}
    texts: dict[str, set[int]] = {}
    for index, row in enumerate(rows):
        texts.setdefault(row.text, set()).add(where[index])
    assert all(len(places) == 1 for places in texts.values())
    share = [sum(rows[index].gold == "yes" for index in part) / len(part) for part in parts]
    assert max(share) - min(share) < 0.15
