"""The tables of measurements: how their texts are filled, and what they do with what was not measured."""

from measured import family_rates
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


def test_families_have_what_was_measured_so_far_and_where_theirs_fails() -> None:
    theirs = {"precision": "bf16", "what": "Trainer", "trained_per_second": 20.0, "predicted_per_second": 60.0}
    ours = theirs | {"what": "finetune", "trained_per_second": 30.0, "predicted_per_second": 90.0}
    runs = [
        theirs | {"family": "bert"},
        ours | {"family": "roformer", "as_functions": ["attention"]},
        {"family": "deberta", "precision": "bf16", "what": "Trainer", "failed": "RuntimeError: overflow"},
        ours | {"family": "deberta", "as_functions": []},
        theirs | {"family": "mpnet"},
        ours | {"family": "mpnet", "as_functions": ["attention"]},
    ]
    rows = {row["family"]: (row["bf16"]["trained"], row["functions"]) for row in family_rates({"runs": runs})}
    assert rows == {
        "BERT": ("", ""),
        "RoFormer": ("", "attention"),
        "DeBERTa": ("30 / fails", "none"),
        "MPNet": ("1.50 (30 / 20)", "attention"),
    }
