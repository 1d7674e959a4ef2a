"""Rows in memory: every container gives the same columns, and what holds no rows is refused."""

import math
import re
from collections import UserString
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import datasets
import numpy as np
import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, Features, List, Value

import finetune
from finetune.data.in_memory import ColumnLeftOut, columns_in, plain_cell, splits_in
from finetune.errors import UserError

CELLS = {"text": ["the cat", "the dog"], "n": [1, 2]}
ROWS = [{"text": "the cat", "n": 1}, {"text": "the dog", "n": 2}]
FRAME = pd.DataFrame(CELLS)


@pytest.mark.parametrize(
    "rows",
    [
        FRAME,
        FRAME.astype({"n": "Int64", "text": "category"}),
        Dataset.from_dict(CELLS),
        Dataset.from_dict(CELLS).to_iterable_dataset(),
        ROWS,
        (row for row in ROWS),
        CELLS,
        {"text": np.array(CELLS["text"]), "n": pd.Series([1, 2])},
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_every_container_gives_the_same_columns(rows: Any) -> None:
    assert columns_in(rows).cells == CELLS
    assert columns_in([{"a": "x"}, {"b": 2}]).cells == {"a": ["x", None], "b": [None, 2]}


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        *((missing, None) for missing in (None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT)),
        (np.int8(3), 3),
        (np.float32(3.7), 3.7),
        (np.array([[1, 2]]), [[1, 2]]),
        (("a", np.int64(1)), ["a", 1]),
        ({"b", "a"}, ["a", "b"]),
        ({"start": np.int64(1), 2: None}, {"start": 1, "2": None}),
        (pd.Timestamp("2024-02-01 10:00"), "2024-02-01T10:00:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_cell_becomes_a_plain_value(cell: Any, plain: Any) -> None:
    found = plain_cell(cell)
    assert (found, type(found)) == (plain, type(plain))


@pytest.mark.parametrize("cell", [object(), b"text", UserString("text"), 1j], ids=lambda cell: type(cell).__name__)
def test_a_cell_of_another_kind_is_refused_with_its_place(cell: Any) -> None:
    with pytest.raises(UserError, match=f"row 2 .*{type(cell).__name__}.*'text'"):
        columns_in({"text": ["a", cell]})


def test_columns_that_no_run_reads_may_hold_anything(tiny_bert: Path) -> None:
    other = {"meta": {}, "deep": {"a": [{}]}, "key": UUID(int=1), "price": Decimal("1.10"), "image": object()}
    rows = [{"text": f"the {name} sat {i}", "label": name, **other} for i in range(20) for name in ("cat", "dog")]
    with pytest.warns(ColumnLeftOut, match="type object in the column 'image'"):
        assert finetune.check(rows, model=str(tiny_bert)).counts["error"] == 0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "no rows"),
        (["a text"], "row 1 is of type str"),
        ({"text": "a"}, "'text' is a str"),
        ({"text": ["a"], "n": [1, 2]}, "1 to 2 cells"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "columns have one name"),
        (pd.DataFrame([["a", "b"]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), "names have levels"),
        ({"foo": FRAME, "bar": FRAME}, "none of the splits is for training (they are foo, bar)"),
        ({"train": FRAME, "val": FRAME, "validation": FRAME}, "'val' and 'validation' could both be dev"),
    ],
)
def test_what_holds_no_rows_is_one_error(rows: Any, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)):
        splits_in(rows)


def test_classes_keep_their_names_and_minus_one_is_no_class() -> None:
    datasets.enable_progress_bars()
    names = ClassLabel(names=["bad", "good"])
    kinds = Features({"text": Value("string"), "label": names, "tags": List(names)})
    given = Dataset.from_dict({"text": ["a", "b"], "label": [1, -1], "tags": [[0, 1], []]}, features=kinds)
    for one in (given, given.to_iterable_dataset()):
        found = columns_in(one)
        assert found.names == {"label": ["bad", "good"], "tags": ["bad", "good"]}
        assert found.cells == {"text": ["a", "b"], "label": [1, None], "tags": [[0, 1], []]}
    assert datasets.is_progress_bar_enabled()
