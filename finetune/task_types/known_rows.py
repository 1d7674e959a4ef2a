"""The rows of a run with their fingerprint; of a large file they are made once, and then are in the cache."""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import accumulate, pairwise
from typing import Any

from finetune.data.atomic import scratch_file, write_atomically
from finetune.data.packed_rows import PackedRows, pack
from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.runs.run_id import data_fingerprint
from finetune.storage.cache import Entry, Facts
from finetune.task_types.own_data import OwnData, own_data
from finetune.task_types.prepare import limited, load_splits
from finetune.task_types.task import Task

ROWS, INDEX = "rows.bin", "rows.json"
NOT_DECISIVE = ("read", "metrics", "inputs")  # fields of a task that decide neither its rows nor their faults


def fingerprinted_splits(task: Task, source: Source, *, limit: int | None) -> tuple[dict[str, Rows], str]:
    """`load_splits` and `data_fingerprint`. Raises UserError as the first does."""
    read = own_data(task)
    kept = None if read is None else _entry(task, read)
    if read is None or kept is None:
        return _fingerprinted(load_splits(task, source, limit=limit))
    found = _known(kept)
    if found is None:
        found = _fingerprinted(load_splits(task, source))
        if read.entry is not None and read.entry.unchanged:
            _keep(kept, *found)
    return found if limit is None else _fingerprinted(limited(task, found[0], limit))


def _fingerprinted(splits: dict[str, Rows]) -> tuple[dict[str, Rows], str]:
    return splits, data_fingerprint({split: loaded.rows for split, loaded in splits.items()})


def _entry(task: Task, read: OwnData) -> Entry | None:
    """The entry of a task's rows; None for a small file, and for a task that cannot be written down."""
    settings = {name: value for name, value in vars(task).items() if name not in NOT_DECISIVE}
    try:
        decides = json.dumps([asdict(read.layout), type(task).__qualname__, settings], sort_keys=True)
    except TypeError:  # an object among the settings
        return None
    return None if read.entry is None else read.entry.entry(ROWS, decides, platform.python_version())


def _known(kept: Entry) -> tuple[dict[str, Rows], str] | None:
    """The rows that were kept; None where none were."""
    with suppress(OSError):
        if kept.facts() is not None:
            known = json.loads((kept.folder / INDEX).read_text(encoding="utf-8"))
            content = (kept.folder / ROWS).read_bytes()
            kept.touch()
            return {split: _rows(facts, content) for split, facts in known["splits"].items()}, known["data"]
    return None


def _rows(facts: Facts, content: bytes) -> Rows:
    """The rows of a split; its blocks are where the index says."""
    kind: Any = getattr(sys.modules[facts["kind"][0]], facts["kind"][1])
    blocks = [content[begin:end] for begin, end in facts["blocks"]]
    packed = PackedRows(kind, facts["names"], blocks, facts["size"])
    loaded = Rows(rows=(), **{**facts["rest"], "notes": tuple(facts["rest"]["notes"])})
    return replace(loaded, rows=packed if facts["packed"] else list(packed))


def _keep(kept: Entry, splits: Mapping[str, Rows], data: str) -> None:
    """Writes rows that can be packed, if the cache has room for them."""
    packed = {split: _packed(loaded.rows) for split, loaded in splits.items()}
    index: dict[str, Facts] = {}
    blocks: list[bytes] = []
    for split, rows in packed.items():
        if rows is None:
            return
        index[split] = _facts(splits[split], rows, begin=sum(map(len, blocks)))
        blocks += rows.blocks
    with suppress(OSError), kept.locked():
        if kept.make_room(sum(map(len, blocks))):
            with scratch_file(kept.folder / ROWS) as scratch, scratch.open("wb") as file:
                file.writelines(blocks)
            write_atomically(kept.folder / INDEX, json.dumps({"data": data, "splits": index}))
            kept.seal([ROWS, INDEX])


def _packed(rows: Sequence[Row]) -> PackedRows | None:
    """The rows packed, however few they are; None where they cannot be."""
    packed = rows if isinstance(rows, PackedRows) else pack(list(rows), least=1)
    return packed if isinstance(packed, PackedRows) else None


def _facts(loaded: Rows, rows: PackedRows, *, begin: int) -> Facts:
    """What `_rows` needs; the first block is at `begin` of the file."""
    rest = {name: value for name, value in vars(loaded).items() if name != "rows"}
    ends = accumulate(map(len, rows.blocks), initial=begin)
    kind = (rows.kind.__module__, rows.kind.__qualname__)
    return {
        "kind": kind, "names": rows.names, "size": len(rows), "blocks": list(pairwise(ends)),
        "packed": isinstance(loaded.rows, PackedRows), "rest": rest,
    }  # fmt: skip
