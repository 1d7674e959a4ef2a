"""Keeps rows in memory as Parquet files, from which a run reads them as it reads any file: equal rows are one file."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finetune.data.atomic import require_no_links, require_written, written_file
from finetune.data.formats.parquet import schema_of, tables_of
from finetune.data.in_memory import Columns
from finetune.data.paths import STORE, require_own_folder

FILE, FOLDER = "data.parquet", "dataset"  # of one split, of several
DIGITS = 16  # of the hash that names their folder


def stored(splits: Mapping[str, Columns], folder: Path) -> Path:
    """The file of these rows under `folder`, or with several splits their folder; written unless it is there.

    Raises UserError where it cannot be written.
    """
    require_own_folder(folder)
    own = folder / _fingerprint(splits)
    if folder.is_symlink() or own.exists():
        require_no_links(folder if folder.is_symlink() else own)
    files = (
        {own / FILE: splits["train"]}
        if len(splits) == 1
        else {own / FOLDER / f"{split}.parquet": columns for split, columns in splits.items()}
    )
    for file, columns in files.items():
        if not file.is_file():
            _write(file, columns)
    return own / (FILE if len(splits) == 1 else FOLDER)


def data_name_of(file: Path) -> str:
    """What messages call a file of data: its path, and `the data` if it was stored here from rows in memory."""
    return "the data" if STORE in (folder.name for folder in list(file.parents)[1:3]) else str(file)


def _fingerprint(splits: Mapping[str, Columns]) -> str:
    digest = hashlib.sha256()
    for split, columns in sorted(splits.items()):
        digest.update(json.dumps([split, list(columns.cells), columns.names]).encode())
        for cells in columns.cells.values():
            digest.update(json.dumps(cells).encode())
    return digest.hexdigest()[:DIGITS]


def _write(file: Path, columns: Columns) -> None:
    """Without compression, which a file of many equal rows would be suspected for."""
    import pyarrow.parquet as pq

    names = list(columns.cells)
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns.cells.values(), strict=True)]
    schema = schema_of(rows, names).with_metadata(_metadata(columns))
    with require_written(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with written_file(file) as scratch, pq.ParquetWriter(scratch, schema, compression="none") as writer:
        for table in tables_of(rows, schema):
            writer.write_table(table)


def _metadata(columns: Columns) -> dict[str, Any]:
    """The names of classes, as the `datasets` library stores them."""
    features = {name: {"names": names, "_type": "ClassLabel"} for name, names in columns.names.items()}
    return {"huggingface": json.dumps({"info": {"features": features}})} if features else {}
