"""`finetune.features`: embeddings of texts, a vector for each text, token or word, in memory or in a file."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from finetune.api.inputs import in_memory, is_path, model_name, recipe_settings, rows_by_column
from finetune.api.model import Model
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.data.files import is_data, split_files
from finetune.data.messages import so_many
from finetune.data.outputs import output_file, require_replaceable_output
from finetune.data.paths import is_folder
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.events import Note, Watcher, unwatched
from finetune.runs.lookup import latest_words
from finetune.training.targets import load_target

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ENDINGS = (".parquet", ".npz")
PoolName = Literal["none", "cls", "mean"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """What `finetune.features` returns.

    Example: `finetune.features("minilm", ["a text", "another"]).vectors`

    Attributes:
        ids: The id of each row `(rows,)`.
        vectors: A vector for each row `(rows, width)`, in order; with `pool="none"` those of all tokens `(all, width)`.
        starts: Where the vectors of each row begin, and the end of the last ones `(rows + 1,)`.
        tokens: The token or word of each vector `(all,)`; None for vectors of rows.
        path: The file of the vectors; None if they are in memory alone.
    """

    ids: "np.ndarray"
    vectors: "np.ndarray"
    starts: "np.ndarray"
    tokens: "np.ndarray | None" = None
    path: Path | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.ids)

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each row of the data: `id` and `vector`; or `id`, `tokens` and `vectors`, one for each token."""
        import numpy as np
        import pandas as pd

        if self.tokens is None:
            return pd.DataFrame({"id": self.ids, "vector": [*self.vectors]})
        tokens, vectors = (np.split(every, self.starts[1:-1]) for every in (self.tokens, self.vectors))
        return pd.DataFrame({"id": self.ids, "tokens": tokens, "vectors": vectors})

    def write(self, path: Path) -> None:
        """Writes an .npz file with these arrays, or a .parquet file with the columns of `frame`."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        with output_file(path) as scratch:
            if path.suffix == ".npz":
                arrays: dict[str, Any] = {"ids": self.ids, "vectors": self.vectors, "starts": self.starts}
                with scratch.open("wb") as opened:
                    np.savez(opened, **arrays if self.tokens is None else {**arrays, "tokens": self.tokens})
                return
            vectors, starts = (
                pa.FixedSizeListArray.from_arrays(self.vectors.ravel(), self.width),
                self.starts.astype("int32"),
            )
            columns = {"id": self.ids, "vector": vectors}
            if self.tokens is not None:
                tokens = pa.ListArray.from_arrays(starts, pa.array(self.tokens))
                columns = {"id": self.ids, "tokens": tokens, "vectors": pa.ListArray.from_arrays(starts, vectors)}
            pq.write_table(pa.table(columns), scratch)

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else self.path
        return f"<Features of {so_many(self.rows)}, vectors of {so_many(self.width, 'number')}: {where}>"


@plainly
def features(
    model: Run | Model | str | Path,
    data: Any,
    *,
    text: str | Sequence[str] | None = None,
    layers: str | Sequence[int] = "last",
    pool: PoolName = "mean",
    split: str | None = None,
    path: str | Path | None = None,
    data_folder: str | Path | None = None,
    out: str | Path = "results",
    device: str | None = None,
    force: bool = False,
    **settings: Any,
) -> Features:
    """The embeddings of every row by an encoder; labels are not read.

    Example: `finetune.features("minilm", df, text="review").vectors`

    Args:
        model: A Hub name, a folder or `minilm`; or a run or its model, whose encoder is used.
        data: A data file or folder, rows in memory as for `finetune.train`, a list of texts or of tuples of texts, or a
            recipe (the data of its task).
        text: The column of the text, or the columns of several.
        layers: As in a recipe: `last`, `concat-last-4`, `[4, 6]`.
        pool: `mean` or `cls`: a vector for each text; `none`: one for each token, or for each word of words.
        split: Of a folder, a dictionary of tables or a task: `train` (the default), `dev` or `test`.
        path: A .parquet or .npz file to write; without one they are in memory alone.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        out: The folder of the runs that are named.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        force: Replace a file that we did not write.
        **settings: Settings of a recipe, such as `max_length=256` or `limit=100`.

    Returns:
        The vectors, as an array and as a table.

    Raises:
        UserError: For an unknown model, layer or split, data without a usable row, and a file that cannot be written.
    """
    data, names = rows_by_column(data)
    given = recipe_settings(settings, text=text or names or None)
    given["layers"] = layers if isinstance(layers, str) else list(layers)
    with ExitStack() as stack:
        stack.enter_context(quiet())
        if not is_path(data):
            data = stack.enter_context(in_memory(data, Path(stack.enter_context(TemporaryDirectory()))))
        return embed(
            model_name(model), str(data), given, path=None if path is None else Path(path), pool=pool, split=split,
            data=None if data_folder is None else Path(data_folder), out=Path(out), device=device, force=force,
        )  # fmt: skip


def embed(
    model: str,
    target: str,
    settings: Mapping[str, Any],
    *,
    path: Path | None,
    pool: str,
    split: str | None,
    data: Path | None,
    out: Path,
    device: str | None,
    force: bool,
    load: Callable[[], None] = lambda: None,
    watch: Watcher = unwatched,
) -> Features:
    """The embeddings of a file or of a task's split, written to `path`; `settings` have dotted keys.

    `load` imports the libraries, once the request is sound. Raises UserError as `features` does.
    """
    settings = {**settings, "model": model}
    file = _file(Path(target), split) if is_data(target) else None
    planned = None if file is not None else load_target(target, settings)
    if path is not None:
        task = [] if planned is None else [planned.recipe.task, *planned.recipe.options.values()]
        reads = [model, file, data, *settings.values(), *task]
        require_replaceable_output(path, endings=ENDINGS, reads=reads, force=force)
    load()
    from finetune.commands.features.embeddings import arrays_of, rows_of_file, rows_of_task
    from finetune.inference.predictor import saved

    found = saved(model, out=out)
    if found.candidates:
        watch(Note(latest_words(model, found.candidates)))
    if planned is not None:
        rows = rows_of_task(planned, source_of(data), split or "train")
    else:
        rows = rows_of_file(Path(file or ""), settings, trained=found.layout, length=found.settings.get("max_length"))
    arrays = arrays_of(rows, found.trained_folder, pool=pool, watch=watch, device=device)
    features = Features(**arrays, path=path)
    if path is not None:
        features.write(path)
    return features


def _file(path: Path, split: str | None) -> Path:
    """The file of the user's data. Raises UserError for a split that it does not have."""
    files = split_files(path)
    if split is not None and not is_folder(path):
        raise UserError(f"{path}: every row of a file is embedded, so `split` does not apply", "Leave `split` out")
    if (split or "train") not in files:
        raise UserError(f"{path}: has no file for the split '{split}'", f"It has {', '.join(files)}")
    return files[split or "train"]
