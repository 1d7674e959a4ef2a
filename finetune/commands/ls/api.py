"""`finetune.ls`: recipes, tasks, finished runs and interrupted ones, and the leaderboard of a task."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.analysis.form import Form
from finetune.analysis.leaderboard import leaderboard
from finetune.api.quiet import plainly
from finetune.data.files import is_data
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import plain_metrics
from finetune.runs import recipe as recipes
from finetune.runs.folder import data_name, folder_name, with_results
from finetune.runs.listing import InterruptedRun, interrupted_runs
from finetune.runs.lookup import find_run, no_run, runs_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records, load_record, readable_records
from finetune.runs.seeds import settings_by_task
from finetune.runs.toml import recipe_files
from finetune.task_types.options import option_names
from finetune.task_types.registry import available

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("task", "id", "model", "encoder", "settings", "seed", "metric", "score", "finished")
UNFINISHED = ("task", "id", "update", "updates", "epoch", "epochs", "checkpoint", "last", "running")


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """What `finetune.ls().board(task)` returns: the runs of a task, those that differ only in seeds as one line.

    Example: `finetune.ls().board("mrpc").frame`

    Attributes:
        name: The task, or the data file.
        form: The cells and notes as they are printed, for each version of the data the best first.
    """

    name: str
    form: Form

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each line; scores as computed, 0.843 for 84.3 points."""
        import pandas as pd

        return pd.DataFrame(self.form.numbers)

    @plainly
    def write(self, file: str | Path, *, force: bool = False) -> Path:
        """Writes a .md file, or a .csv file with the numbers of `frame`, and returns its path.

        With `force` it replaces a file that we did not write. Raises UserError for another suffix.
        """
        path = Path(file)
        made = f"finetune ls {self.name} --board -o {path.name}"
        return self.form.write(path, made=made, reads=self.name, force=force)

    def __repr__(self) -> str:
        return f"<Leaderboard {self.form.title}>"


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
    finished: Sequence[RunRecord]
    unfinished: Sequence[InterruptedRun]
    out: Path

    @plainly
    def board(self, task: str | Path) -> Leaderboard:
        """The leaderboard of a task, or of a data file: its models and settings, the best first.

        Example: `finetune.ls().board("mrpc").frame`

        Raises UserError where it has no finished run.
        """
        name, files = str(task), [folder.record_file for folder in runs_of(str(task), self.out)]
        folder = _folder(name)
        records = [record for _, record in readable_records(files) if folder_name(record.task) == folder]
        if not records:
            raise _no_task(name, self.out)
        return Leaderboard(name=name, form=leaderboard(sorted(records, key=lambda record: record.finished)))

    @property
    def runs(self) -> "pd.DataFrame":
        """A row for each finished run; `encoder` is its lineage if it is of a run, and `settings` are those in
        which the runs of a task differ.
        """
        import pandas as pd

        rows = []
        for run, differing in zip(self.finished, settings_by_task(self.finished), strict=True):
            settings = ", ".join(f"{key}={value}" for key, value in differing.items())
            names = (run.task, run.id, run.model, run.lineage.words if run.lineage else "", settings)
            rows.append((*names, run.recipe["seed"], run.headline, run.score, run.finished))
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @property
    def interrupted(self) -> "pd.DataFrame":
        """A row for each unfinished run: what was done of how much, its last checkpoint, and whether it is running."""
        import pandas as pd

        return pd.DataFrame(list(map(vars, self.unfinished)), columns=list(UNFINISHED))

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
    name, finished, unfinished = str(task), all_records(Path(out)), interrupted_runs(Path(out))
    if task is not None:
        ids, folder = {folder.path.name for folder in runs_of(name, Path(out))}, _folder(name)
        finished = [run for run in finished if run.id in ids]
        unfinished = [run for run in unfinished if run.task == folder]
        if not finished and not unfinished:
            raise _no_task(name, Path(out))
    return Listing(
        recipes={name: f"{recipe.task} with {recipe.model}" for name, recipe in found.items()},
        tasks={name: list(plain_metrics(task.metric_names)) for name, task in sorted(available().items())},
        finished=finished,
        unfinished=unfinished,
        out=Path(out),
    )


def _folder(name: str) -> str:
    return folder_name(data_name(name) if is_data(name) else name)


def _no_task(name: str, out: Path) -> UserError:
    """The error for a name that no task with runs has; that of a run says of which task it is."""
    run = find_run(name, out)
    if run is None:
        return no_run(name, out)
    task = load_record(run.record_file).task
    return UserError(f"{name} is a run, of {task}", f"Name the task: {with_results('ls', task, out=out)}")
