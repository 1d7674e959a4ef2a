"""`finetune features`: embeddings, a vector for each text, in memory or in a file."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

from finetune.analysis.table import Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, model_name, recipe_settings, rows_by_column
from finetune.api.model import Model
from finetune.api.parameters import Cli, Columns
from finetune.api.run import Run
from finetune.data.atomic import output_file, require_replaceable_output
from finetune.data.messages import so_many
from finetune.data.paths import is_folder, require_file, require_here
from finetune.errors import UserError
from finetune.runs.settings import override_value

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ENDINGS = (".parquet", ".npz")


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """What `finetune.features` returns.

    Example: `finetune.features("minilm", ["a text", "another"]).vectors`

    Attributes:
        ids: The id of each row `(rows,)`.
        vectors: A vector for each row `(rows, width)`, in order.
        path: The file of the vectors; None if they are in memory alone.
    """

    ids: "np.ndarray"
    vectors: "np.ndarray"
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
        """A row for each row of the data: `id` and `vector`."""
        import pandas as pd

        return pd.DataFrame({"id": self.ids, "vector": [*self.vectors]})

    def write(self, path: Path) -> None:
        """Writes an .npz file with these arrays, or a .parquet file with the columns of `frame`."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        with output_file(path) as scratch:
            if path.suffix == ".npz":
                with scratch.open("wb") as opened:
                    np.savez(opened, ids=self.ids, vectors=self.vectors)
                return
            vectors = pa.FixedSizeListArray.from_arrays(self.vectors.ravel(), self.width)
            pq.write_table(pa.table({"id": self.ids, "vector": vectors}), scratch)

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else self.path
        return f"<Features of {so_many(self.rows)}, vectors of {so_many(self.width, 'number')}: {where}>"


@plainly
def features(
    model: Annotated[Run | Model | str | Path, Cli(help="A Hub name, a folder, minilm, or a run (id, or its data).")],
    data: Annotated[Any, Cli(help="A data file in any format.")],
    *,
    text: Columns = None,
    layers: str | Sequence[int] = "last",
    pool: Literal["cls", "mean"] = "mean",
    path: Annotated[str | Path | None, Cli(names=("-o", "--output"), default="features.parquet")] = None,
    force: bool = False,
    out: str | Path = "results",
    device: str | None = None,
    **settings: Any,
) -> Features:
    """The embeddings of every row by an encoder; labels are not read.

    Example: `finetune.features("minilm", df, text="review").vectors`

    Args:
        model: A Hub name, a folder or `minilm`; or a run or its model, whose encoder is used.
        data: A data file, rows in memory as for `finetune.run`, or a list of texts or of tuples of texts.
        text: The column of the text, or the columns of several.
        layers: As in a recipe: `last`, `concat-last-4`, `[4, 6]`.
        pool: `mean`: the mean of a text's tokens; `cls`: the vector of the first.
        path: A .parquet or .npz file to write.
        force: Replace a file that this command did not write.
        out: The folder of the runs that are named.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        **settings: Settings of a recipe, such as `max_length=256` or `limit=100`.

    Returns:
        The vectors, as an array and as a table, in memory where `path` names no file.

    Raises:
        UserError: For an unknown model or layer, data without a usable row, and a file that cannot be written.
    """
    data, columns = rows_by_column(data)
    wanted = recipe_settings(settings, text=text or columns or None)
    wanted["layers"] = override_value("layers", layers) if isinstance(layers, str) else list(layers)
    name, file = model_name(model), None if path is None else Path(path)
    with ExitStack() as stack:
        if not is_path(data):
            data = stack.enter_context(in_memory(data, Path(stack.enter_context(TemporaryDirectory()))))
        require_here(str(data))
        if is_folder(data):
            raise UserError(f"{data}: is a folder, and the rows of a file are embedded", "Name one of its files")
        require_file(Path(data))
        if file is not None:
            require_replaceable_output(file, endings=ENDINGS, reads=[name, data, *wanted.values()], force=force)
        watch = stack.enter_context(here().working(f"{data}: loading the model {name}"))
        from finetune.commands.features.embeddings import vectors_of

        ids, vectors = vectors_of(name, Path(data), wanted, pool=pool, out=Path(out), device=device, watch=watch)
        embedded = Features(ids=ids, vectors=vectors, path=file)
        if file is not None:
            embedded.write(file)
    return embedded


def as_json(embedded: Features) -> Iterator[Mapping[str, Any]]:
    """`rows`, `width`, `file`."""
    yield {"rows": embedded.rows, "width": embedded.width, "file": str(embedded.path)}


def shown(embedded: Features) -> Iterator[Part]:
    """The number and width of the vectors."""
    yield f"{so_many(embedded.rows)}, a vector of {so_many(embedded.width, 'number')} for each -> {embedded.path}"
