"""Every prediction of a run in a Parquet file: text, label (`gold`), `prediction` and probabilities."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from finetune.data.atomic import written_file
from finetune.errors import UserError
from finetune.runs.folder import RunFolder

NOT_READ = ("n_best",)  # the largest column where it exists, and never displayed
PREDICTION, OLDER = "prediction", "answer"  # the column, and its name in the files of older runs
NEEDED = ("id", "gold", PREDICTION)
PredictionLine = dict[str, Any]
Writer = Callable[[Path], AbstractContextManager[Path]]


def write_predictions(
    file: Path, lines: Sequence[Mapping[str, Any]], official: Mapping[str, Any], *, writer: Writer = written_file
) -> None:
    """Writes one line per row, and in the same folder the files of the task's official format.

    `writer` is `output_file` for files that a user named. Raises UserError where the folder cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writer(file) as scratch:
        pq.write_table(pa.Table.from_pylist(lines), scratch)
    pa.default_memory_pool().release_unused()
    for name, content in official.items():
        with writer(file.with_name(name)) as scratch:
            scratch.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_predictions(file: Path, *, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines that `write_predictions` wrote, without some columns.

    Raises UserError where the file is absent or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        raise UserError(f"{file}: no predictions found", "They are not kept in git; run the recipe again with `force`")
    RunFolder(file.parent).verify(file.name)
    try:
        with pq.ParquetFile(file.absolute()) as opened:  # pq.read_table imports pyarrow.dataset and pandas
            columns = [name for name in opened.schema_arrow.names if name not in without]
            table = opened.read(columns=columns)
            older = {} if PREDICTION in columns else {OLDER: PREDICTION}
            return table.rename_columns([older.get(name, name) for name in columns]).to_pylist()  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: cannot be read ({error})", "Run the recipe again with `force`") from error


def read_lines(folder: RunFolder, split: str) -> list[PredictionLine]:
    """The predictions of a split. Raises UserError where the file is damaged or lacks a required column."""
    file = folder.predictions(split)
    lines = read_predictions(file, without=NOT_READ)
    if lines and (lacking := [name for name in NEEDED if name not in lines[0]]):
        raise UserError(f"{file}: has no column {' and '.join(lacking)}", "Run the recipe again with `force`")
    return lines
