"""The leaderboard of a task: `finetune ls TASK --board`, `finetune.ls().board(task)`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.analysis.form import Form
from finetune.analysis.leaderboard import Board, board_form, leaderboards
from finetune.api.quiet import plainly
from finetune.data.files import is_data
from finetune.data.messages import noun, so_many
from finetune.errors import UserError
from finetune.runs.folder import data_name, folder_name, with_results
from finetune.runs.interrupted import InterruptedRun
from finetune.runs.lookup import find_run, no_run, runs_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record, readable_records

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """What `finetune.ls().board(task)` returns: the runs of a task, those that differ only in seeds as one line.

    Example: `finetune.ls().board("mrpc").frame`

    Attributes:
        name: The task, or the data file.
        boards: For each version of the data the lines of its runs, the best first.
    """

    name: str
    boards: Sequence[Board]

    @property
    def form(self) -> Form:
        """The cells and notes as they are printed."""
        return board_form(self.boards)

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each line; scores and differences as computed, 0.843 for 84.3 points."""
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


def _records_of(name: str, out: Path) -> list[RunRecord]:
    """The records of the finished runs of a task, or of a data file; damaged ones are left out with a warning. Raises
    UserError where there is none.
    """
    files = [folder.record_file for folder in runs_of(name, out)]
    task = data_name(name) if is_data(name) else name
    records = [record for _, record in readable_records(files, load_record)]
    if not (mine := [record for record in records if folder_name(record.task) == folder_name(task)]):
        raise no_task(name, out)
    return sorted(mine, key=lambda record: record.finished)


def no_task(name: str, out: Path) -> UserError:
    """The error for a name that no task with runs has; that of a run says of which task it is."""
    run = find_run(name, out)
    if run is None:
        return no_run(name, out)
    task = load_record(run.record_file).task
    return UserError(f"{name} is a run, of {task}", f"Name the task: {with_results('ls', task, out=out)}")


def leaderboard_of(name: str, out: Path) -> Leaderboard:
    """The leaderboard of a task, or of a data file. Raises UserError where there is no finished run."""
    return Leaderboard(name=name, boards=leaderboards(_records_of(name, out)))


def unfinished_words(runs: Sequence[InterruptedRun]) -> str:
    """That runs without scores are left out, in words; empty without any."""
    under_way = sum(run.running for run in runs)
    if not runs:
        return ""
    now = f" ({under_way} trained now)" * bool(under_way)
    return f"{so_many(len(runs), 'run')} without scores yet {noun(len(runs), 'is', 'are')} left out{now}"
