"""`finetune.label_next`: the rows of a pool to label next, in memory or as a file."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from finetune.api.inputs import in_memory, is_path, model_name, named_options
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.commands.label_next.result import NextRows
from finetune.data.outputs import require_replaceable_output
from finetune.data.source import source_of
from finetune.data.writing import written_format
from finetune.errors import UserError, shown_value
from finetune.inference.predict_plan import require_predictable
from finetune.runs.events import Watcher, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import require_run

MOST_CHOSEN = 100_000  # rows
RANDOM_SHARE = 0.1


@plainly
def label_next(
    run: Run | str | Path,
    pool: Any,
    *,
    text: str | Sequence[str] | None = None,
    rows: int = 200,
    random: float = RANDOM_SHARE,
    path: str | Path | None = None,
    encoding: str = "",
    sheet: str = "",
    data_folder: str | Path | None = None,
    device: str | None = None,
    out: str | Path = "results",
    force: bool = False,
) -> NextRows:
    """Chooses the rows of a pool to label next: those of which the model is least sure, and some at random.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Args:
        run: A run, its folder, id or task, or the file that it was trained on.
        pool: Rows without labels, with the columns of training: a data file, or in memory as for `finetune.train`.
        text: The column or columns of the inputs, if they have other names than in training.
        rows: How many rows to choose.
        random: The share that is chosen at random.
        path: The file to write, a table or JSON Lines; without one the rows are in memory alone.
        encoding: The encoding of a data file, if it is not detected.
        sheet: The sheet of an Excel file; default: that of training if there is one of its name, else the first.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        out: The folder of the runs that are named.
        force: Replace a file that we did not write.

    Returns:
        The rows with the model's predictions as suggestions, and how many were left out.

    Raises:
        UserError: For a pool that cannot be read or has no row to label, for rows that the tool cannot label, and for
            a file that may not be written.
    """
    options = named_options(text=text, encoding=encoding, sheet=sheet)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory()))
        file = Path(pool) if is_path(pool) else stack.enter_context(in_memory(pool, scratch))
        output = scratch / "next.parquet" if path is None else Path(path)
        folder = require_pool(
            model_name(run), file, output, rows=rows, random=random, options=options, out=Path(out), force=force
        )
        found = next_rows_of(
            folder, file, output, rows=rows, random=random, options=options, out=Path(out), device=device,
            data=None if data_folder is None else Path(data_folder), watch=unwatched,
        )  # fmt: skip
        if path is not None:
            return found
        import pandas as pd

        return replace(found, path=None, frame=pd.read_parquet(output))


def require_pool(
    run: str, pool: Path, output: Path, *, rows: int, random: float, options: Mapping[str, str], out: Path, force: bool
) -> RunFolder:
    """The folder of a run. Raises UserError, before torch is imported, for what cannot be chosen or written."""
    if not 1 <= rows <= MOST_CHOSEN:
        raise UserError(f"rows is {shown_value(rows)}", f"Give a number from 1 to {MOST_CHOSEN:,}")
    if not 0 <= random <= 1:
        raise UserError(f"random is {shown_value(random)}", "Give a share from 0 to 1")
    require_replaceable_output(output, reads=[pool], force=force)
    written_format(output)
    folder = require_run(run, out)
    require_predictable(str(folder.path), pool, output.with_suffix(".csv"), options, out=out, force=True)
    return folder


def next_rows_of(
    folder: RunFolder,
    pool: Path,
    output: Path,
    *,
    rows: int,
    random: float,
    options: Mapping[str, str],
    data: Path | None,
    out: Path,
    device: str | None,
    watch: Watcher,
) -> NextRows:
    """`label_next` with files and a watcher of progress; `options` are the columns and encoding of the pool."""
    with quiet():
        from finetune.commands.label_next.next_rows import write_next_rows
        from finetune.inference.predictor import load_predictor

        predictor = load_predictor(str(folder.path), out=out, watch=watch, device=device)
        return write_next_rows(
            predictor, folder, pool, output, rows=rows, random=random, options=options, source=source_of(data),
            watch=watch,
        )  # fmt: skip
