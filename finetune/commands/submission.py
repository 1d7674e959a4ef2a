"""`finetune submission`: the zip for the GLUE server, with predictions on every test set (Wang et al. 2018)."""

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from finetune.analysis.table import Part, facts_table
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import run_names
from finetune.api.parameters import Cli, DataFolder
from finetune.api.run import Run
from finetune.data.atomic import output_file, require_replaceable_output
from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.data.source import Source, source_of
from finetune.errors import UserError
from finetune.runs.events import Note, Watcher
from finetune.task_types import registry
from finetune.task_types.prepare import load_splits
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from finetune.task_types.classification.task import SentenceTask

ROWS_AT_ONCE = 20_000  # rows encoded together; QQP has 390,965
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)  # of each file in the zip, so that equal predictions give equal bytes
MIDDLE_SCORE = 2.5
Speller = Callable[["SentenceTask", Any], str]  # a predicted value as the server reads it


@dataclass(frozen=True)
class OfficialFile:
    """One file of the zip: the task of the run that predicts it, its number of rows, and its test set.

    `task` is the test set's, if it is another one.
    """

    name: str
    trained_on: str
    rows: int
    spell: Speller
    split: str = "test"
    task: str = ""

    @property
    def test_set(self) -> Task:
        """The task that the test set is of."""
        return registry.find(self.task or self.trained_on)


class Submission(dict[str, str | None]):
    """For each file of the zip `path` the run that predicted it; None for a constant."""

    def __init__(self, path: Path, runs: Mapping[str, str | None]) -> None:
        super().__init__(runs)
        self.path = path


@plainly
def submission(
    *runs: Annotated[Run | str | Path, Cli(least=1)],
    path: Annotated[str | Path, Cli(names=("-o", "--output"))] = "submission.zip",
    fill_missing: bool = False,
    force: bool = False,
    data_folder: DataFolder = None,
    out: str | Path = "results",
    device: str | None = None,
) -> Submission:
    """Predicts GLUE's test sets and writes the zip for its server.

    Everything is checked before the first prediction.

    Example: `finetune.submission(cola, sst, path="glue.zip", fill_missing=True)`

    Args:
        *runs: Trained runs, one for each task, or their folders, ids or tasks.
        path: The zip to write.
        fill_missing: Fill in constants for tasks without a run.
        force: Replace a file that this command did not write.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        out: The folder of the runs that are named.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.

    Returns:
        For each file of the zip the run that predicted it; None for a constant.

    Raises:
        UserError: For a task without a run, two runs of one, and test files without exactly the official rows.
    """
    file, names, source = Path(path), run_names(runs), source_of(data_folder)
    require_replaceable_output(file, endings=(".zip",), reads=names, force=force)
    models = f"{len(names)} models" if len(names) > 1 else names[0]
    with here().working(f"{file}: loading the model {models}") as watch:
        from finetune.inference.predictor import load_predictor

        by_task = _runs_by_task(names, Path(out))
        if not fill_missing:
            _require_complete(by_task)
        rows = {spec.name: _rows(spec, source, watch) for spec in FILES if spec.trained_on in by_task}
        texts = {}
        for official in FILES:
            task = cast("SentenceTask", official.test_set)
            values = [task.labels[0] if task.labels else MIDDLE_SCORE] * official.rows
            if official.name in rows:
                run, of_file = by_task[official.trained_on], rows[official.name]
                predictor = load_predictor(run, task=task, out=Path(out), watch=watch, device=device)
                watch(Note(f"predicting {so_many(len(of_file))} for {official.name}"))
                parts = [of_file[start : start + ROWS_AT_ONCE] for start in range(0, len(of_file), ROWS_AT_ONCE)]
                values = [answer.value for part in parts for answer in predictor.answers(part)]
            lines = [f"{index}\t{official.spell(task, value)}\n" for index, value in enumerate(values)]
            texts[official.name] = "".join(["index\tprediction\n", *lines])
        _pack(file, texts)
    return Submission(file, {spec.name: by_task.get(spec.trained_on) for spec in FILES})


def _runs_by_task(runs: Sequence[str], out: Path) -> dict[str, str]:
    """Runs by the name of their task."""
    from finetune.inference.predictor import saved

    allowed = list(dict.fromkeys(official.trained_on for official in FILES))
    by_task: dict[str, str] = {}
    for run in runs:
        name = saved(run, out=out).task_name
        if name not in allowed:
            raise UserError(f"{run} was trained on {name}, which is not a GLUE task", f"Those are {', '.join(allowed)}")
        if name in by_task:
            raise UserError(f"{by_task[name]} and {run} were both trained on {name}", "Name one of them")
        by_task[name] = run
    return by_task


def _require_complete(by_task: Mapping[str, str]) -> None:
    if missing := [official for official in FILES if official.trained_on not in by_task]:
        recipes = " ".join(dict.fromkeys(f"glue-{official.trained_on}" for official in missing))
        raise UserError(
            f"no run was named for {', '.join(official.name for official in missing)}",
            f"Train them (finetune run {recipes}) and name them, or fill in constants with `fill_missing`",
        )


def _rows(official: OfficialFile, source: Source, watch: Watcher) -> Sequence[Row]:
    loaded = load_splits(official.test_set, source, names=[official.split])[official.split]
    if len(loaded.rows) != official.rows:
        what = f"{official.name}: {loaded.origin} has {so_many(len(loaded.rows))}, GLUE {official.rows}"
        raise UserError("; ".join([what, *loaded.notes]), "Use the official file, complete and unchanged")
    for note in loaded.notes:
        watch(Note(note))
    return loaded.rows


def _pack(file: Path, texts: Mapping[str, str]) -> None:
    """Writes the zip, whose bytes are equal on every machine."""
    with output_file(file, remedy="Name another file") as scratch, zipfile.ZipFile(scratch, "w") as archive:
        for name, text in texts.items():
            entry = zipfile.ZipInfo(name, date_time=OLDEST_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text)


def as_json(made: Submission) -> Iterator[Mapping[str, str | None]]:
    """The run of each file of the archive, such as `MRPC.tsv`; null for constants."""
    yield made


def shown(made: Submission) -> Iterator[Part]:
    """The run that predicted each file."""
    constant = "constant baseline (no run given)"
    yield facts_table(str(made.path), {name: f"predicted by {run}" if run else constant for name, run in made.items()})


def _by_number(task: "SentenceTask", value: str) -> str:
    return str(task.labels.index(value))


def _by_name(_: "SentenceTask", value: str) -> str:
    return value


def _as_score(_: "SentenceTask", value: float) -> str:
    return f"{min(5.0, max(0.0, value)):.3f}"


FILES = (
    OfficialFile("CoLA.tsv", "cola", 1063, _by_number),
    OfficialFile("SST-2.tsv", "sst2", 1821, _by_number),
    OfficialFile("MRPC.tsv", "mrpc", 1725, _by_number),
    OfficialFile("STS-B.tsv", "stsb", 1379, _as_score),
    OfficialFile("QQP.tsv", "qqp", 390_965, _by_number),
    OfficialFile("MNLI-m.tsv", "mnli", 9796, _by_name),
    OfficialFile("MNLI-mm.tsv", "mnli", 9847, _by_name, split="test-mismatched"),
    OfficialFile("QNLI.tsv", "qnli", 5463, _by_name),
    OfficialFile("RTE.tsv", "rte", 3000, _by_name),
    OfficialFile("WNLI.tsv", "wnli", 146, _by_number),
    OfficialFile("AX.tsv", "mnli", 1104, _by_name, task="ax"),
)
