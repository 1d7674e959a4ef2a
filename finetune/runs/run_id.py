"""A run's id and the fingerprint of its data: hashes of all that decides the result."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from finetune.data.rows import HashedRows, Row, row_fields
from finetune.runs.recipe import Recipe

CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode


def run_id(
    recipe: Recipe,
    *,
    task: str,
    version: int,
    data: str,
    weights: str,
    precision: str,
    options: Mapping[str, Any] = MappingProxyType({}),
    columns: Mapping[str, Any] = MappingProxyType({}),
    taught: Mapping[str, Any] = MappingProxyType({}),
    task_file: str | None = None,
) -> str:
    """Ten hex digits: a hash of all that decides the result.

    Settings at their defaults are left out, so that a new setting keeps old ids; so are the names of recipe and
    model, the output folder, the number of processes, gradient checkpointing and the versions of libraries. `task` is
    its name, `options` those that are not at their defaults, `columns` what the model keeps of a user's own data, which
    is more than the rows say. `taught` has hashes of what a student learns but for labels: of teachers, and of their
    text. `task_file` is a hash of the user's own file, for a task that is in one.
    """
    settings = recipe.model_dump(
        exclude_defaults=True,
        exclude={"task", "model", "tokenizer", "seed", "init_seed", "data_seed", "options", "grid"},
    )
    for name in ("precision", "gradient_checkpointing"):
        settings.get("train", {}).pop(name, None)
    for name in ("teacher", "text", "weak"):
        settings.get("distil", {}).pop(name, None)
    decides = {
        "settings": {key: value for key, value in settings.items() if value != {}},
        "seeds": recipe.seeds,
        "task": [task, version, *([task_file] if task_file else [])],
        "data": data,
        "weights": weights,
        "precision": precision,
        **({"options": dict(options)} if options else {}),
        **({"columns": dict(columns)} if columns else {}),
        **({"taught": dict(taught)} if taught else {}),
    }
    canonical = json.dumps(decides, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def data_fingerprint(splits: Mapping[str, Sequence[Row]]) -> str:
    """A hash of all rows of all splits, independent of where they were read from."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        rows = splits[name]
        if isinstance(rows, HashedRows):
            digest.update(CANONICAL([name, rows.fingerprint]).encode())
            continue
        for row in rows:
            facts = [name, row_fields(row)]
            digest.update(CANONICAL(facts).encode())
    return digest.hexdigest()
