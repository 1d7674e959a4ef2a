"""Every prediction of a run, with text, gold, answer and probabilities, in a Parquet file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from finetune.data.rows import Row, row_fields
from finetune.errors import UserError
from finetune.runs.folder import write_atomically
from finetune.task_types.task import Answer, Task


def write_predictions(
    file: Path,
    task: Task,
    rows: Sequence[Row],
    answers: Sequence[Answer],
    baselines: Mapping[str, Sequence[Answer]] = MappingProxyType({}),
    *,
    prefix: str = "",
) -> None:
    """A line a row: its own fields, `answer`, `probabilities`, what else an answer has, each baseline's answer.

    Beside it are written the files that are official in the task's field, `prefix` before their names.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = []
    for index, (row, gold, answer) in enumerate(zip(rows, task.gold(rows), answers, strict=True)):
        line = row_fields(row) | {"gold": gold.value} | asdict(answer)
        line["answer"] = line.pop("value")
        line |= {f"baseline:{name}": given[index].value for name, given in baselines.items()}
        lines.append(line)
    scratch = file.with_name(f".{file.name}.tmp")
    try:
        pq.write_table(pa.Table.from_pylist(lines), scratch)
        scratch.replace(file)
        for name, content in task.official_files(answers, rows).items():
            write_atomically(file.with_name(prefix + name), json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror})", "Choose another file") from error


def read_predictions(file: Path, *, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines that `write_predictions` wrote, or all of them but some columns.

    Raises UserError where the file is absent or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        raise UserError(f"{file}: no predictions there", "They are not kept in git; run the recipe again with --force")
    try:
        columns = [name for name in pq.read_schema(file).names if name not in without]
        return pq.read_table(file, columns=columns).to_pylist()  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: cannot be read ({error})", "Run the recipe again with --force") from error
