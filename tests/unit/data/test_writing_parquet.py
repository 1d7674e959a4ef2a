"""Cells that pyarrow has no type for are written as text."""

from finetune.data.formats.parquet import schema_of, tables_of


def test_lists_of_numbers_and_texts_are_texts() -> None:
    rows = [{"spans": [[0, 3, "PER"]], "places": [[0, 3]]}, {"spans": [[7, 11, "ORG"]], "places": []}]
    schema = schema_of(rows, ["spans", "places"])
    (table,) = tables_of(rows, schema)
    assert table.column("spans").to_pylist() == ['[[0, 3, "PER"]]', '[[7, 11, "ORG"]]']
    assert table.column("places").to_pylist() == [[[0, 3]], []]
