"""The tables of measurements: how their texts are filled, and what they do with what was not measured."""

from tables import TEXT, grouped, nested, pooled


def filled(text: str, **row: object) -> str:
    return TEXT.vformat(text, (), row)


def test_a_text_has_paths_summaries_units_and_plurals() -> None:
    machine = {"cpu": {"threads": 2}, "rounds": [{"minute": 1}, {"minute": 60}]}
    assert filled("{cpu[threads]: thread(s)}, {rounds[-1][minute]: minute(s)}", **machine) == "2 threads, 60 minutes"
    assert filled("{seconds!d:.1f s}, {share:.1f %}, {size:,.0f MB}", seconds=[1, 2, 9], share=0.123, size=2e9) == (
        "2.0 s, 12.3 %, 2,000 MB"
    )


def test_a_list_is_its_mean_and_range_and_what_is_missing_is_empty() -> None:
    assert filled("{score:+.1f points}", score=[0.1, 0.3]) == "+20.0 (+10.0 to +30.0)"
    assert filled("{score:.1f points}", score=[0.1]) == "10.0"
    assert filled("{score:.1f points}{ratio:.1f times}", score=[], ratio=None) == ""


def test_rows_are_the_leaves_of_what_was_measured() -> None:
    assert list(nested({"a": {"b": [{"x": 1}, {"x": 2}]}}, ["task", "engine"])) == [
        {"task": "a", "engine": "b", "x": [1, 2]}
    ]
    assert pooled([{"x": 1, "y": {"z": 2}}, {"y": {"z": 3}}]) == {"x": [1], "y": {"z": [2, 3]}}
    assert grouped({"sst2 8 0": 1, "sst2 8 1": 2}) == {("sst2", "8"): [1, 2]}
