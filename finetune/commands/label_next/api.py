"""`finetune.label_next`: the rows of a pool to label next, in memory or as a file."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from finetune.api.inputs import in_memory, is_path, model_name, named_options
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.data.outputs import require_replaceable_output
from finetune.data.writing import written_format
from finetune.errors import UserError, shown_value
from finetune.inference.predict_plan import require_predictable
from finetune.runs.events import Watcher, unwatched
from finetune.runs.lookup import require_run
from finetune.runs.record_files import load_record

if TYPE_CHECKING:
    import pandas as pd

MOST_CHOSEN = 100_000  # rows


@dataclass(frozen=True, kw_only=True)
class NextRows:
    """What `finetune.label_next` returns.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Attributes:
        path: The file that was written; None where the rows are in memory alone.
        rows: The number of rows in the pool.
        known: How many of them the run was trained or scored on.
        failed: How many of them cannot be predicted.
        chosen: How many were chosen.
        settings: The settings with which a run reads the rows once they are labelled.
        notes: Rows that are missing, and columns that were inferred.
        frame: The rows.
    """

    path: Path | None
    rows: int
    known: int
    failed: int
    chosen: int
    settings: Mapping[str, str]
    notes: list[str]
    frame: "pd.DataFrame" = field(repr=False, compare=False)

    def facts(self) -> dict[str, Any]:
        """JSON values."""
        facts = {name: value for name, value in vars(self).items() if name != "frame"}
        return {**facts, "path": None if self.path is None else str(self.path), "settings": dict(self.settings)}


@plainly
def label_next(
    run: Run | str | Path,
    pool: Any,
    *,
    text: str | Sequence[str] | None = None,
    rows: int = 200,
    path: str | Path | None = None,
    encoding: str = "",
    sheet: str = "",
    device: str | None = None,
    out: str | Path = "results",
    force: bool = False,
) -> NextRows:
    """Chooses the rows of a pool to label next: those of which the model is least sure.

    Example: `finetune.label_next(run, df, rows=200).frame`

    Args:
        run: A run on your own data, its folder or id, or the file that it was trained on.
        pool: Rows without labels, with the columns of training: a data file, or in memory as for `finetune.run`.
        text: The column or columns of the inputs, if they have other names than in training.
        rows: How many rows to choose.
        path: The file to write, a table or JSON Lines; without one the rows are in memory alone.
        encoding: The encoding of a data file, if it is not detected.
        sheet: The sheet of an Excel file; default: that of training if there is one of its name, else the first.
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
        stack.enter_context(quiet())
        if not is_path(pool):
            pool = stack.enter_context(in_memory(pool, Path(stack.enter_context(TemporaryDirectory()))))
        return choose_rows(
            model_name(run), Path(pool), None if path is None else Path(path), rows=rows, options=options,
            out=Path(out), device=device, force=force,
        )  # fmt: skip


def choose_rows(
    run: str,
    pool: Path,
    output: Path | None,
    *,
    rows: int,
    options: Mapping[str, str],
    out: Path,
    device: str | None,
    force: bool,
    load: Callable[[], None] = lambda: None,
    watch: Watcher = unwatched,
) -> NextRows:
    """`label_next` of a file; `options` are its columns and encoding, and `load` imports the libraries, once the
    request is sound.
    """
    if not 1 <= rows <= MOST_CHOSEN:
        raise UserError(f"rows is {shown_value(rows)}", f"Give a number from 1 to {MOST_CHOSEN:,}")
    if output is not None:
        require_replaceable_output(output, reads=[pool], force=force)
        written_format(output)
    folder = require_run(run, out)
    require_predictable(
        str(folder.path), pool, (output or Path("next")).with_suffix(".csv"), options, out=out, force=True
    )
    load()
    from finetune.commands.label_next.next_rows import write_next_rows
    from finetune.inference.predictor import load_predictor

    predictor = load_predictor(str(folder.path), out=out, watch=watch, device=device)
    found = write_next_rows(
        predictor, load_record(folder.record_file), pool, output, rows=rows, options=options, watch=watch,
    )  # fmt: skip
    return NextRows(**found)
