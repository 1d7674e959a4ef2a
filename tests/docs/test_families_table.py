"""The table of families' speed, of whatever was measured."""

from families_table import families_table

SMALL = {"size": "small", "precision": "bf16"}
RATES = {"trained_per_second": 20.0, "predicted_per_second": 60.0}
OURS = {"what": "finetune", "trained_per_second": 30.0, "predicted_per_second": 90.0, "as_functions": ["attention"]}


def test_it_has_what_was_measured_so_far_and_where_theirs_fails() -> None:
    runs = [
        SMALL | {"family": "bert", "what": "Trainer"} | RATES,
        SMALL | {"family": "roformer"} | OURS,
        SMALL | {"family": "deberta", "what": "Trainer", "failed": "RuntimeError: overflow"},
        SMALL | {"family": "deberta"} | OURS,
        SMALL | {"family": "mpnet", "what": "Trainer"} | RATES,
        SMALL | {"family": "mpnet"} | OURS,
    ]
    shape = {"small": {"layers": 6, "width": 384}}
    settings = {"shapes": shape, "updates": {"small": 16}, "train": {"batch_size": 8}, "clock": "wall"}
    cpu = {"name": "a processor", "threads": 2}
    found = families_table({"runs": runs, "settings": settings, "cpu": cpu, "date": "2026-11-26T00:00"})
    assert "| BERT |  |  |  |\n" in found
    assert "| RoFormer |  |  | attention |\n" in found
    assert "| DeBERTa | 30 / fails | 90 / fails | attention |\n" in found
    assert "| MPNet | 1.50 (30 / 20) | 1.50 (90 / 60) | attention |\n" in found
    assert "*fails*" in found
