"""`finetune.ls`: recipes, tasks, finished runs and interrupted ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.api.quiet import plainly
from finetune.commands.ls.board import Leaderboard, leaderboard_of, no_task
from finetune.data.files import is_data
from finetune.data.messages import so_many
from finetune.metrics.scores import plain_metrics
from finetune.runs import recipe as recipes
from finetune.runs.folder import data_name, folder_name
from finetune.runs.interrupted import InterruptedRun, interrupted_runs
from finetune.runs.lookup import runs_of
from finetune.runs.recipe_diff import listed_differences
from finetune.runs.record import ListedRun
from finetune.runs.record_files import listed_runs
from finetune.task_types.options import option_names
from finetune.task_types.registry import available
from finetune.training.targets import recipe_files

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("task", "id", "model", "encoder", "settings", "seed", "metric", "score", "finished")
UNFINISHED = ("task", "id", "update", "updates", "epoch", "epochs", "checkpoint", "last", "running")


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What `finetune.ls` returns.

    Example: `finetune.ls().runs`

    Attributes:
        recipes: The task and model of each built-in recipe, by name.
        tasks: The metrics of each task, by name.
        finished: The finished runs, by task and time.
        unfinished: The interrupted runs, and those that another process trains.
        out: The folder of runs.
    """

    recipes: dict[str, str]
    tasks: dict[str, list[str]]
    finished: Sequence[ListedRun]
    unfinished: Sequence[InterruptedRun]
    out: Path

    @plainly
    def board(self, task: str | Path) -> Leaderboard:
        """The leaderboard of a task, or of a data file: its models and settings, each compared with the best.

        Example: `finetune.ls().board("mrpc").frame`

        Raises UserError where it has no finished run.
        """
        return leaderboard_of(str(task), self.out)

    @property
    def runs(self) -> "pd.DataFrame":
        """A row for each finished run; `encoder` is its lineage if it is of a run, and `settings` are those in
        which the runs of a task differ.
        """
        import pandas as pd

        words = [", ".join(f"{k}={v}" for k, v in each.items()) for each in listed_differences(self.finished)]
        encoders = ["" if one.lineage is None else one.lineage.brief for one in self.finished]
        rows = [
            (one.task, one.id, one.model, encoder, settings, one.recipe.seed, one.headline, one.score, one.finished)
            for one, encoder, settings in zip(self.finished, encoders, words, strict=True)
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @property
    def interrupted(self) -> "pd.DataFrame":
        """A row for each unfinished run: what was done of how much, its last checkpoint, and whether it is running."""
        import pandas as pd

        rows = [tuple(getattr(one, name) for name in UNFINISHED) for one in self.unfinished]
        return pd.DataFrame(rows, columns=list(UNFINISHED))

    def __repr__(self) -> str:
        return f"<Listing of {so_many(len(self.finished), 'run')}, {len(self.unfinished)} not finished>"


@plainly
def ls(out: str | Path = "results", *, task: str | Path | None = None) -> Listing:
    """Lists recipes, tasks, finished runs and interrupted ones.

    Example: `finetune.ls(task="mrpc").runs`

    Args:
        out: The folder of runs.
        task: List only the runs of this task, or of this data file.

    Returns:
        The lists; a damaged record is left out with a warning.

    Raises:
        UserError: For a task without runs.
    """
    found = {name: recipes.load_recipe(file, options=option_names) for name, file in recipe_files().items()}
    finished, unfinished = listed_runs(Path(out)), interrupted_runs(Path(out))
    if task is not None:
        finished, unfinished = _of_task(str(task), Path(out), finished, unfinished)
    return Listing(
        recipes={name: f"{one.task} with {one.model}" for name, one in found.items()},
        tasks={name: list(plain_metrics(task.metric_names)) for name, task in sorted(available().items())},
        finished=finished,
        unfinished=unfinished,
        out=Path(out),
    )


def _of_task(
    name: str, out: Path, finished: Sequence[ListedRun], unfinished: Sequence[InterruptedRun]
) -> tuple[list[ListedRun], list[InterruptedRun]]:
    """The runs of a task or of data. Raises UserError where there is none of either."""
    ids = {folder.path.name for folder in runs_of(name, out)}
    folder = folder_name(data_name(name) if is_data(name) else name)
    mine = [one for one in finished if one.id in ids], [one for one in unfinished if one.task == folder]
    if not any(mine):
        raise no_task(name, out)
    return mine
