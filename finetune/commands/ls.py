"""`finetune ls`: recipes, tasks, finished runs and interrupted ones; or the leaderboard of a task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.analysis.table import Next, NoteLine, Part, TextTable, as_plain_text, facts_table, require_table_file
from finetune.api.calls import plainly
from finetune.api.parameters import OutputFile
from finetune.data.messages import noun, so_many
from finetune.data.paths import is_data
from finetune.errors import UserError
from finetune.runs.folder import data_name, folder_name, with_results
from finetune.runs.lookup import InterruptedRun, find_run, interrupted_runs, no_run, runs_of
from finetune.runs.record_files import ListedRun, finished_runs, load_record, readable_records
from finetune.runs.seeds import settings_by_task
from finetune.runs.settings import recipe_titles
from finetune.task_types.declared import metric_names

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("task", "id", "model", "encoder", "settings", "seed", "metric", "score", "finished")
UNFINISHED = ("task", "id", "update", "updates", "epoch", "epochs", "checkpoint", "last", "running")
MOST_LISTED = 30  # runs, the latest


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """The runs of a task, those that differ only in seeds as one line: `finetune.ls("mrpc", board=True)`.

    Attributes:
        name: The task, or the data file.
        table: The printed table: for each version of the data, the best first.
        unfinished: The runs without scores yet, which are left out.
        path: The file that was written, if any.
    """

    name: str
    table: TextTable
    unfinished: Sequence[InterruptedRun] = ()
    path: Path | None = None

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each line; scores as computed, 0.843 for 84.3 points."""
        return self.table.frame

    def __repr__(self) -> str:
        return f"<Leaderboard {self.table.title}>"


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What `finetune.ls` returns.

    Example: `finetune.ls().runs`

    Attributes:
        recipes: The task and model of each built-in recipe, by name.
        tasks: The metrics of each task, by name.
        finished: The finished runs, by task and time.
        unfinished: The interrupted runs, and those that another process trains.
        task: The task whose runs alone are listed.
    """

    recipes: dict[str, str]
    tasks: dict[str, list[str]]
    finished: Sequence[ListedRun]
    unfinished: Sequence[InterruptedRun]
    task: str | None = None

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
def ls(
    task: str | Path | None = None,
    *,
    board: bool = False,
    path: OutputFile = None,
    force: bool = False,
    out: str | Path = "results",
) -> Listing | Leaderboard:
    """Lists recipes, tasks, finished runs and interrupted ones; or the models and settings of a task, the best first.

    Example: `finetune.ls("mrpc").runs`, `finetune.ls("mrpc", board=True).frame`

    Args:
        task: Only the runs of this task or data file.
        board: Its leaderboard: a line a model and settings.
        path: A file for the leaderboard: .md or .csv.
        force: Replace a file that this command did not write.
        out: The folder of runs.

    Returns:
        The lists, or the leaderboard; a damaged record is left out with a warning.

    Raises:
        UserError: For a task without runs, and for a leaderboard without a task.
    """
    folder = Path(out)
    if path is not None and not board:
        command = with_results("ls", str(task or "TASK"), "--board", "-o", str(path), out=folder)
        raise UserError(f"{path}: only a leaderboard is written to a file", f"Add --board: {command}")
    name, finished = str(task), finished_runs(folder)
    if board and task is None:
        names = ", ".join(dict.fromkeys(run.task for run in finished))
        raise UserError("a leaderboard is of one task", f"Name one: {names}" if names else f"{out} has no finished run")
    if path is not None:
        require_table_file(Path(path), reads=name, force=force)
    unfinished = interrupted_runs(folder)
    if task is not None:
        ids = {run.path.name for run in runs_of(name, folder)}
        finished = [run for run in finished if run.id in ids and folder_name(run.task) == _folder(name)]
        unfinished = [run for run in unfinished if run.task == _folder(name)]
        if not finished and (board or not unfinished):
            raise _no_task(name, folder)
    if board:
        return _board(name, finished, unfinished, path, force=force)
    return Listing(
        recipes=recipe_titles(), tasks=metric_names(), finished=finished, unfinished=unfinished,
        task=None if task is None else name,
    )  # fmt: skip


def _board(
    name: str, runs: Sequence[ListedRun], unfinished: Sequence[InterruptedRun], path: str | Path | None, *,
    force: bool,
) -> Leaderboard:  # fmt: skip
    from finetune.analysis.leaderboard import leaderboard

    records = [record for _, record in readable_records(run.file for run in runs)]
    table = leaderboard(sorted(records, key=lambda record: record.finished))
    if path is not None:
        table.write(Path(path), made=f"finetune ls {name} --board -o {Path(path).name}", reads=name, force=force)
    return Leaderboard(name=name, table=table, unfinished=unfinished, path=None if path is None else Path(path))


def _folder(name: str) -> str:
    return folder_name(data_name(name) if is_data(name) else name)


def _no_task(name: str, out: Path) -> UserError:
    """The error for a name that no task with runs has; for a run it names the task."""
    run = find_run(name, out)
    if run is None:
        return no_run(name, out)
    task = load_record(run.record_file).task
    return UserError(f"{name} is a run, of {task}", f"Name the task: {with_results('ls', task, out=out)}")


def as_json(result: Listing | Leaderboard) -> Iterator[Mapping[str, Any]]:
    """A run a line: `task`, `id`, `model`, `settings`, `seed`, `metric`, `score`, `finished`; or a line of the
    leaderboard: also `split`, `rows`, `seeds`, `low`, `high`, `verdict`, `baseline_score`, `runs`.
    """
    frames = [result.frame] if isinstance(result, Leaderboard) else [result.runs, result.interrupted]
    for frame in frames:
        yield from frame.astype(object).where(frame.notna(), None).to_dict("records")


def shown(result: Listing | Leaderboard) -> Iterator[Part]:
    """My runs, recipes and tasks; the runs of a task; or its leaderboard."""
    yield from _board_parts(result) if isinstance(result, Leaderboard) else _listing_parts(result)


def _listing_parts(listing: Listing) -> Iterator[Part]:
    """All runs, or of very many the latest; those that are not finished; then recipes and tasks."""
    finished = sorted(listing.finished, key=lambda run: run.finished)
    if listing.task is None and len(finished) > MOST_LISTED:
        title = f"the latest {MOST_LISTED} of {so_many(len(finished), 'run')}; of one task: finetune ls TASK"
        yield runs_table(finished[-MOST_LISTED:], title=title)
    elif finished:
        yield runs_table(listing.finished)
    if listing.unfinished:
        yield interrupted_table(listing.unfinished)
    if listing.task is None:
        yield facts_table("recipes", listing.recipes)
        yield facts_table("tasks", {name: ", ".join(metrics) for name, metrics in listing.tasks.items()})
    commands = []
    if finished:
        latest = finished[-1]
        several = sum(run.task == latest.task for run in finished) > 1
        commands = [["show", latest.id], *[["ls", listing.task or latest.task, "--board"]] * several]
    if listing.task is None or not finished:
        commands.append(["run", "FILE"])
    yield Next(commands)


def runs_table(runs: Sequence[ListedRun], *, title: str = "runs") -> TextTable:
    """A table with one line per run; its settings are the ones that differ between a task's runs."""
    rows = [
        {
            "task": run.task, "id": run.id, "model": run.model, "encoder": run.lineage.words if run.lineage else "",
            "settings": as_plain_text(settings), "seed": str(run.recipe["seed"]), "score": _headline_score(run),
            "finished": to_the_minute(run.finished),
        }
        for run, settings in zip(runs, settings_by_task(runs), strict=True)
    ]  # fmt: skip
    return TextTable.of_cells(title, rows)


def _headline_score(run: ListedRun) -> str:
    return f"{run.headline} {run.metric(run.headline).shown(run.score)}"


def interrupted_table(runs: Sequence[InterruptedRun]) -> TextTable:
    """A line per run without a record: how far it came, and what it resumes from."""
    rows = [
        {
            "task": run.task, "id": run.id, "update": _of(run.update, run.updates) if run.updates else "none",
            "epoch": _of(run.epoch, run.epochs) if run.epoch else "",
            "checkpoint": f"update {run.checkpoint:,}" if run.checkpoint else "none",
            "last written": to_the_minute(run.last), "now": "running" * run.running,
        }
        for run in runs
    ]  # fmt: skip
    note = "the same command as before resumes such a run at its checkpoint, or starts it again where it has none"
    return TextTable.of_cells("interrupted runs", rows, notes=[note])


def to_the_minute(time: str) -> str:
    """`2026-11-21 08:53` of `2026-11-21T08:53:12+00:00`."""
    return time[:16].replace("T", " ")


def _of(count: int, of: int) -> str:
    return f"{count:,} of {of:,}"


def _board_parts(board: Leaderboard) -> Iterator[Part]:
    if count := len(board.unfinished):
        running = sum(run.running for run in board.unfinished)
        left_out = f"{so_many(count, 'run')} without scores yet {noun(count, 'is', 'are')} left out"
        yield NoteLine(left_out + f" ({running} trained now)" * bool(running), aside=True)
    if board.path is not None:
        yield NoteLine(f"{board.path}: {board.table.title}", aside=True)
        return
    yield board.table
    rows, numbers = board.table.rows, board.table.numbers
    lines = [line for line, cells in zip(numbers, rows, strict=True) if cells[0] == rows[0][0]]  # of the same rows
    best = [line["runs"].split(", ")[0] for line in lines[:2]]
    two = [["compare", *best, "--seeds"]] * (len(best) > 1)
    yield Next([["ls", board.name, "--board", "-o", "board.md"], *two])
