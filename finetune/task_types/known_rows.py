"""The rows of a run with their fingerprint; of a large file they are made once, and then are in the cache."""

import json
import marshal
import platform
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

from finetune.data.atomic import scratch_file
from finetune.data.rows import Rows, is_plain
from finetune.data.source import Source
from finetune.runs.run_id import data_fingerprint
from finetune.storage.cache import Entry, Facts
from finetune.task_types.own_data import OwnData, own_data
from finetune.task_types.prepare import limited, load_splits
from finetune.task_types.task import Task

ROWS = "rows.marshal"
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
            known = marshal.loads(zlib.decompress((kept.folder / ROWS).read_bytes()))
            kept.touch()
            return {split: _rows(facts) for split, facts in known["splits"].items()}, known["data"]
    return None


def _rows(facts: Facts) -> Rows:
    kind: Any = getattr(sys.modules[facts["kind"][0]], facts["kind"][1])
    rows = [kind(**dict(zip(facts["names"], values, strict=True))) for values in facts["rows"]]
    return Rows(rows=rows, **facts["rest"])


def _keep(kept: Entry, splits: Mapping[str, Rows], data: str) -> None:
    """Writes rows of texts, numbers and tuples of them, if the cache has room."""
    facts = {split: _facts(loaded) for split, loaded in splits.items()}
    if None in facts.values():
        return
    content = zlib.compress(marshal.dumps({"data": data, "splits": facts}), level=1)
    with suppress(OSError), kept.locked():
        if kept.make_room(len(content)):
            with scratch_file(kept.folder / ROWS) as scratch:
                scratch.write_bytes(content)
            kept.seal([ROWS])


def _facts(loaded: Rows) -> Facts | None:
    """What `_rows` needs; None for rows of several classes or with other values."""
    kinds = set(map(type, loaded.rows))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    names = [field.name for field in fields(kind)]
    values = [tuple([getattr(row, name) for name in names]) for row in loaded.rows]
    if not all(map(is_plain, values)):
        return None
    rest = {name: value for name, value in vars(loaded).items() if name != "rows"}
    return {"kind": (kind.__module__, kind.__qualname__), "names": names, "rows": values, "rest": rest}
