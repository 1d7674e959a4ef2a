"""The fingerprint of rows, of which run ids are made: it may become faster, and never another."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest
from support.toys import every_shape

from finetune.data.rows import ADDED_LATER, data_fingerprint
from finetune.data.source import Source
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
