"""What a run saw of its training rows: the probability of each row's label in each epoch, in a Parquet file.

It is that of the training's own forward pass, with dropout, when the row was trained on, as Swayamdipta et al. (2020)
record it: it costs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from finetune.data.atomic import written_file
from finetune.errors import UserError

TEXT_CHARS = 500  # kept of a row's input
MOST_KEPT = 100_000  # rows, of more those that are believed least: the rest would be a second copy of the data


@dataclass(frozen=True, kw_only=True)
class TrainingRows:
    """The training rows of a run that were trained on twice or more; `chances` `(rows, epochs)` are NaN where a row
    was not in an epoch, or part.
    """

    ids: Sequence[str]
    texts: Sequence[str]
    labels: Sequence[str]
    chances: np.ndarray

    @property
    def confidence(self) -> np.ndarray:
        """The mean probability of each row's label over epochs `(rows,)`."""
        found: np.ndarray = np.nanmean(self.chances, axis=1)
        return found

    @property
    def variability(self) -> np.ndarray:
        """The standard deviation of that probability `(rows,)`."""
        found: np.ndarray = np.nanstd(self.chances, axis=1)
        return found


def write_training_rows(
    file: Path, ids: Sequence[str], texts: Sequence[str], labels: Sequence[str], chances: np.ndarray
) -> None:
    """Writes the rows that were seen in two epochs or more; no file where none was."""
    seen = np.flatnonzero(np.isfinite(chances).sum(axis=1) > 1)
    if not len(seen):
        return
    least = np.argsort(np.nanmean(chances[seen], axis=1), kind="stable")[:MOST_KEPT]
    kept = np.sort(seen[least]).tolist()
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "id": [ids[row] for row in kept],
        "text": [texts[row][:TEXT_CHARS] for row in kept],
        "gold": [labels[row] for row in kept],
        "chances": list(np.where(np.isfinite(chances[kept]), chances[kept], np.nan).astype(np.float32)),
    }
    with written_file(file) as scratch:
        pq.write_table(pa.table(columns), scratch)


def read_training_rows(file: Path) -> TrainingRows | None:
    """What `write_training_rows` wrote; None without a file. Raises UserError where it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        return None
    try:
        columns = pq.read_table(file.absolute()).to_pydict()
        chances = np.array(columns["chances"], float)
        return TrainingRows(ids=columns["id"], texts=columns["text"], labels=columns["gold"], chances=chances)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise UserError(f"{file}: cannot be read ({error})", "Run the recipe again with `force`") from error
