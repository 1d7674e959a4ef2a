"""`finetune.label_next`: the rows of a pool that are worth labelling next, in memory or for a labelling tool."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from finetune.analysis.data_sizes import curves_of, worth_words
from finetune.api.inputs import in_memory, is_path, named_options
from finetune.api.names import model_name
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.commands.label_next.outputs import tool_of
from finetune.commands.label_next.result import RANDOM_SHARE, AskedRows, NextRows
from finetune.data.outputs import require_replaceable_output
from finetune.data.source import source_of
from finetune.inference.predict_plan import require_predictable
from finetune.runs.events import Watcher, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import require_run
from finetune.runs.record_files import load_record, readable_records


@plainly
def label_next(
    run: Run | str | Path,
    pool: Any,
    *,
    text: str | Sequence[str] | None = None,
    rows: int = 200,
    random: float = RANDOM_SHARE,
    path: str | Path | None = None,
    to: str | None = None,
    new_only: bool = False,
    encoding: str = "",
    sheet: str = "",
    data_folder: str | Path | None = None,
    device: str | None = None,
    out: str | Path = "results",
    force: bool = False,
) -> NextRows:
    """Chooses the rows of a pool to label next: the least sure ones, spread over the pool, and some at random.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Args:
        run: A run, its folder, id or task, or the file that it was trained on.
        pool: Rows without labels, with the columns of training: a data file, or in memory as for `finetune.train`.
        text: The column or columns of the inputs, if they have other names than in training.
        rows: How many rows to choose.
        random: The share that is chosen at random, and becomes dev in the next run.
        path: The file to write: .json for Label Studio, .jsonl for doccano, else a table; without one the rows are in
            memory alone.
        to: `label-studio`, `doccano` or `table`, if the ending says another.
        new_only: Leave out the rows that have labels already.
        encoding: The encoding of a data file, if it is not detected.
        sheet: The sheet of an Excel file; default: that of training if there is one of its name, else the first.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        out: The folder of the runs that are named.
        force: Replace a file that we did not write.

    Returns:
        The rows with the model's predictions as suggestions, then those that have labels, and how many were left out.

    Raises:
        UserError: For a pool that cannot be read or has no row to label, for rows that the tool cannot label, and for
            a file that may not be written.
    """
    options = named_options(text=text, encoding=encoding, sheet=sheet)
    asked = AskedRows(rows=rows, random=random, new_only=new_only)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory()))
        file = Path(pool) if is_path(pool) else stack.enter_context(in_memory(pool, scratch))
        output = scratch / "next.parquet" if path is None else Path(path)
        folder = require_pool(
            model_name(run), file, output, asked=asked, to=to, options=options, out=Path(out), force=force
        )
        found = next_rows_of(
            folder, file, output, asked=asked, to=to, options=options, out=Path(out), device=device,
            data=None if data_folder is None else Path(data_folder), watch=unwatched, force=force,
        )  # fmt: skip
        return found if path is not None else _in_memory(found)


def require_pool(
    run: str,
    pool: Path,
    output: Path,
    *,
    asked: AskedRows,
    to: str | None,
    options: Mapping[str, str],
    out: Path,
    force: bool,
) -> RunFolder:
    """The folder of a run. Raises UserError, before torch is imported, for what cannot be chosen or written."""
    asked.require_possible()
    tool_of(output, to)
    require_replaceable_output(output, reads=[pool], force=force)
    folder = require_run(run, out)
    require_predictable(str(folder.path), pool, output.with_suffix(".csv"), options, out=out, force=True)
    return folder


def next_rows_of(
    folder: RunFolder,
    pool: Path,
    output: Path,
    *,
    asked: AskedRows,
    to: str | None,
    options: Mapping[str, str],
    data: Path | None,
    out: Path,
    device: str | None,
    watch: Watcher,
    force: bool,
) -> NextRows:
    """`label_next` with files and a watcher of progress; `options` are the columns and encoding of the pool."""
    with quiet():
        from finetune.commands.label_next.next_rows import write_next_rows
        from finetune.inference.predictor import load_predictor

        predictor = load_predictor(str(folder.path), out=out, watch=watch, device=device)
        found = write_next_rows(
            predictor, folder, pool, output, asked=asked, to=to, options=options, source=source_of(data), watch=watch,
            force=force,
        )  # fmt: skip
    return replace(found, worth=_worth(folder, asked.rows))


def _in_memory(found: NextRows) -> NextRows:
    """The same with the rows of its file, which is about to be deleted."""
    import pandas as pd

    return replace(found, files=(), frame=pd.read_parquet(found.files[0]))


def _worth(folder: RunFolder, rows: int) -> str:
    """What so many more rows are worth, by the learning curve of the run's setting; empty without one."""
    files = sorted(folder.path.parent.glob("*/record.json"))
    records = [record for _, record in readable_records(files, load_record)]
    mine = load_record(folder.record_file).id
    curves = [sizes for sizes in curves_of(records) if any(one.id == mine for size in sizes for one in size.records)]
    return worth_words(curves[0], rows) if curves else ""
