"""The id of a run, with the fingerprint of its rows: if one changed, all finished runs would be run again."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest
from support.toys import every_shape

from finetune.data.rows import ADDED_LATER, data_fingerprint
from finetune.data.source import Source
from finetune.runs.recipe import Recipe
from finetune.runs.resolve import parse, run_id, with_settings
from finetune.task_types.plugins.intents import IntentRow


@dataclass(frozen=True, kw_only=True)
class Inner:
    number: float


@dataclass(frozen=True, kw_only=True)
class OddRow:
    id: str
    inner: Inner
    several: tuple[Any, ...] = ()
    other: Any = None
    late: str = field(default="", metadata=ADDED_LATER)


ODD = [
    OddRow(id="é", inner=Inner(number=0.1), several=(Inner(number=1), "a"), other={"b": [float("nan")]}),
    OddRow(id="b", inner=Inner(number=2), other={1}, late="x"),
]


@pytest.mark.parametrize("rows", [ODD, *(task.load(Source(), "train").rows for task in every_shape())])
def test_the_fingerprint_is_that_of_the_first_version(rows: list[Any]) -> None:
    digest = hashlib.sha256()
    for split in ("dev", "train"):
        for row in rows:
            facts = asdict(row)
            late = ("text", "starts", "raw", "document") if isinstance(row, IntentRow) else ("text", "starts", "raw")
            for name in late if hasattr(row, "starts") else ("late",):
                if not facts.get(name):
                    facts.pop(name, None)
            digest.update(json.dumps([split, facts], sort_keys=True, ensure_ascii=True, default=str).encode())
    assert data_fingerprint({"train": rows, "dev": rows}) == digest.hexdigest()


def identified(changes: dict[str, Any] | None = None, **settings: Any) -> str:
    one: Recipe = with_settings(parse({"task": "mrpc"}, origin="test"), settings, origin="test")
    facts = {"task": "toy-cats", "version": 1, "data": "d", "weights": "w", "precision": "fp32"} | (changes or {})
    return run_id(one, **facts)


def test_the_id_is_of_what_decides_the_result() -> None:
    assert identified(**{"train.learning_rate": 2e-4}) == "211dce9549"
    same: list[dict[str, Any]] = [
        {},
        {"seed": 42, "train.epochs": 3, "train.precision": "fp32"},  # the defaults
        {"init_seed": 42, "data_seed": 42, "seed": 7},  # the same seeds said otherwise
        {"model": "elsewhere/the-same-weights"},
        {"grid": {"seed": [42]}},
        {"train_share": 1.0},
    ]
    assert len({identified(**settings) for settings in same}) == 1
    other = [{"seed": 43}, {"data_seed": 43}, {"init_seed": 43}, {"limit": 10}, {"max_length": 64}, {"train.epochs": 4}]
    facts = [{"data": "x"}, {"weights": "x"}, {"precision": "bf16"}, {"task_file": "hash of a file"}, {"version": 2}]
    found = [*(identified(**settings) for settings in [*other, {"train_share": 0.5}]), *map(identified, facts)]
    assert len({identified(), *found}) == 13
