"""`finetune.features`: embeddings of texts, a vector for each text, token or word, in memory or in a file."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from finetune.api.inputs import in_memory, is_path, model_name, recipe_settings, rows_by_column
from finetune.api.model import Model
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.data.files import is_data, split_files
from finetune.data.messages import so_many
from finetune.data.outputs import require_replaceable_output
from finetune.data.paths import is_folder
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.events import Note, Watcher, unwatched
from finetune.runs.lookup import latest_words
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.targets import load_target

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FEATURES = (".parquet", ".npz")
PoolName = Literal["none", "cls", "mean"]


@dataclass(frozen=True, kw_only=True)
class Features:
    """What `finetune.features` returns.

    Example: `finetune.features("minilm", ["a text", "another"]).vectors`

    Attributes:
        path: The file of the vectors; None if they are in memory alone.
        rows: The number of rows.
        width: The length of a vector.
    """

    path: Path | None
    rows: int
    width: int
    kept: "pd.DataFrame | None" = field(default=None, repr=False, compare=False)

    @property
    def vectors(self) -> "np.ndarray":
        """An array `(rows, width)` in the order of the rows; with `pool="none"` the vectors of all tokens."""
        import numpy as np

        frame = self.frame
        return np.stack(frame["vector"]) if "vector" in frame else np.concatenate([*map(np.stack, frame["vectors"])])

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each row of the data: `id` and `vector`; or `id`, `tokens` and `vectors`, one for each token."""
        import pandas as pd

        if self.path is None:
            assert self.kept is not None
            return self.kept
        if self.path.suffix == ".parquet":
            return pd.read_parquet(self.path)
        import numpy as np

        with np.load(self.path) as found:
            each = np.split(found["vectors"], found["starts"][1:-1])
            if "tokens" not in found:
                return pd.DataFrame({"id": found["ids"], "vector": [one[0] for one in each]})
            tokens = np.split(found["tokens"], found["starts"][1:-1])
            return pd.DataFrame({"id": found["ids"], "tokens": tokens, "vectors": each})

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
        scratch = Path(stack.enter_context(TemporaryDirectory()))
        if not is_path(data):
            data = stack.enter_context(in_memory(data, scratch))
        wanted = wanted_rows(model_name(model), str(data), given, split=split)
        folder, to = None if data_folder is None else Path(data_folder), scratch / "features.parquet"
        found = written_features(
            wanted, to if path is None else Path(path), pool=pool, data=folder, out=Path(out), device=device,
            watch=unwatched, force=force,
        )  # fmt: skip
        return found if path is not None else replace(found, path=None, kept=found.frame)


@dataclass(frozen=True, kw_only=True)
class EmbeddingRequest:
    """What is embedded by which model: the rows of a file, or of a split of a task (`planned`)."""

    model: str
    settings: Mapping[str, Any]
    split: str
    file: Path | None
    planned: ResolvedRun | None


def wanted_rows(model: str, target: str, settings: Mapping[str, Any], *, split: str | None) -> EmbeddingRequest:
    """What `target` names, with settings that have dotted keys. Raises UserError, before torch is imported."""
    given = {**settings, "model": model}
    file = _file(target, split) if is_data(target) else None
    planned = load_target(target, given) if file is None else None
    return EmbeddingRequest(model=model, settings=given, split=split or "train", file=file, planned=planned)


def require_features_file(wanted: EmbeddingRequest, path: Path, data: Path | None, *, force: bool) -> None:
    """Raises UserError where the embeddings may not be written to a file."""
    reads: list[Any] = [wanted.model, wanted.file, data, *wanted.settings.values()]
    if wanted.planned is not None:
        reads += [wanted.planned.recipe.task, *wanted.planned.recipe.options.values()]
    require_replaceable_output(path, endings=FEATURES, reads=reads, force=force)


def written_features(
    wanted: EmbeddingRequest,
    path: Path,
    *,
    pool: PoolName,
    data: Path | None,
    out: Path,
    device: str | None,
    watch: Watcher,
    force: bool,
) -> Features:
    """Writes the embeddings, with a watcher of progress."""
    require_features_file(wanted, path, data, force=force)
    with quiet():
        from finetune.commands.features.embeddings import write_features
        from finetune.commands.features.rows_to_embed import rows_of_file, rows_of_task
        from finetune.inference.predictor import saved

        found = saved(wanted.model, out=out)
        if found.candidates:
            watch(Note(latest_words(wanted.model, found.candidates)))
        if wanted.planned is not None:
            rows = rows_of_task(wanted.planned.recipe, wanted.planned.task, source_of(data), wanted.split)
        else:
            assert wanted.file is not None
            length = found.settings.get("max_length")
            rows = rows_of_file(wanted.file, wanted.settings, trained=found.layout, length=length)
        count, width = write_features(rows, found.trained_folder, path, pool=pool, watch=watch, device=device)
    return Features(path=path, rows=count, width=width)


def _file(target: str, split: str | None) -> Path:
    """The file of the user's data. Raises UserError for a split that it does not have."""
    files = split_files(Path(target))
    if split is not None and not is_folder(Path(target)):
        raise UserError(f"{target}: every row of a file is embedded, so `split` does not apply", "Leave `split` out")
    if (split or "train") not in files:
        raise UserError(f"{target}: has no file for the split '{split}'", f"It has {', '.join(files)}")
    return files[split or "train"]
