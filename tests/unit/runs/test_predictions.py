"""The file of a run's predictions, also of older runs."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finetune.errors import UserError
from finetune.runs.folder import RunFolder, read_lines, write_predictions

LINES = [{"id": "1", "text": "a", "gold": "x", "prediction": "y", "probabilities": [0.1, 0.9]}]


def test_the_predictions_of_older_runs_are_read(tmp_path: Path) -> None:
    file = RunFolder(tmp_path).predictions("dev")
    write_predictions(file, LINES, {})
    assert read_lines(RunFolder(tmp_path), "dev") == LINES
    older = [{("answer" if name == "prediction" else name): cell for name, cell in LINES[0].items()}]
    pq.write_table(pa.Table.from_pylist(older), file)
    assert read_lines(RunFolder(tmp_path), "dev") == LINES
    pq.write_table(pa.Table.from_pylist([{"id": "1", "gold": "x"}]), file)
    with pytest.raises(UserError, match="has no column prediction"):
        read_lines(RunFolder(tmp_path), "dev")
