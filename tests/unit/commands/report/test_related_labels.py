"""Ordered labels have blocks on the distance, labels in a tree one by level; other labels have neither."""

from collections.abc import Sequence
from typing import Any, cast

from finetune.commands.report.blocks import Block
from finetune.commands.report.split import by_class, confusion, distance, levels
from finetune.commands.report.split_view import SplitView
from finetune.task_types.sentence.view import LabelView


def split_of(pairs: Sequence[tuple[str, str]], **related: Any) -> SplitView:
    lines = [{"text": "a cat", "gold": gold, "prediction": answer} for gold, answer in pairs]
    view = LabelView(lines=lines, **related)
    return SplitView(view=view, run=cast(Any, None), name="dev", section="dev", budget=0)


def rows_of(block: Block) -> list[list[str]]:
    assert block.table is not None
    return [list(row) for row in block.table.rows]


ORDER = ("low", "medium", "high")
PAIRS = [("low", "low"), ("low", "high"), ("medium", "low"), ("high", "high"), ("high", "medium")]


def test_the_distance_counts_steps_on_both_sides_and_by_label() -> None:
    by_steps, by_label = distance.blocks(split_of(PAIRS, order=ORDER))
    assert rows_of(by_steps) == [
        ["0", "2", "40.0 %", "40.0 %", "", ""],
        ["1", "2", "40.0 %", "80.0 %", "2", "0"],
        ["2", "1", "20.0 %", "100.0 %", "0", "1"],
    ]
    assert rows_of(by_label) == [
        ["low", "2", "1.00", "+1.00"],
        ["medium", "1", "1.00", "-1.00"],
        ["high", "2", "0.50", "-0.50"],
    ]


def test_classes_and_confusion_are_in_the_order() -> None:
    split = split_of(PAIRS, order=ORDER)
    assert [one.name for one in by_class.by_support(split.view)] == list(ORDER)
    (block,) = confusion.blocks(split)
    assert block.matrix is not None
    assert (block.matrix.down, block.matrix.counts) == (list(ORDER), [[1, 0, 1], [1, 0, 0], [0, 1, 1]])
    assert split.view.facts(split.view.lines[1]) == ["off by +2"]


def test_a_tree_is_scored_by_level() -> None:
    pairs = [("a > x", "a > x"), ("a > y", "a > x"), ("b > z", "a > x"), ("b > z", "b > z")]
    (block,) = levels.blocks(split_of(pairs, levels=">"))
    assert rows_of(block) == [["1", "2", "75.0", "73.3", "1"], ["2", "3", "50.0", "38.9", "1"]]
    assert "Hierarchical F1 62.5" in block.note


def test_other_labels_have_neither() -> None:
    split = split_of(PAIRS)
    assert not [*distance.blocks(split), *levels.blocks(split)]
    unknown = split_of([("low", "never")], order=ORDER)
    assert not [*distance.blocks(unknown)]
