"""The zip for the GLUE server: predictions on every test set, in the official format (Wang et al. 2018)."""

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from finetune.data.messages import so_many
from finetune.data.outputs import output_file, require_replaceable_output
from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import Predictor, load_predictor, saved
from finetune.runs.events import Note, Watcher
from finetune.task_types import registry
from finetune.task_types.classification.task import SentenceTask
from finetune.task_types.prepare import load_splits

ROWS_AT_ONCE = 20_000  # rows encoded together; QQP has 390,965
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)  # of each file in the zip, so that equal predictions give equal bytes
MIDDLE_SCORE = 2.5
OTHER_FILE = "Name another file"


@dataclass(frozen=True, kw_only=True)
class OfficialFile:
    """One file of the zip: its test set, the number of rows, and the task of the run that predicts it.

    `spell` formats a predicted value.
    """

    name: str
    task: str
    rows: int
    spell: Callable[[SentenceTask, Any], str]
    split: str = "test"
    trained_on: str


def submit(
    runs: Sequence[str],
    file: Path,
    *,
    source: Source,
    out: Path,
    watch: Watcher,
    device: str | None = None,
    fill_missing: bool = False,
    force: bool = False,
) -> dict[str, str | None]:
    """Writes the zip. Returns the run that predicted each file; None for a constant from `fill_missing`.

    Everything is checked before the first prediction. Raises UserError for a run of a task outside GLUE, two runs of
    one task, a task without a run, test files without exactly the official rows, and a file that cannot be written.
    """
    require_replaceable_output(file, endings=(".zip",), reads=runs, force=force)
    by_task = _runs_by_task(runs, out)
    if not fill_missing:
        _check_complete(by_task)
    rows = {official.name: _rows(official, source, watch) for official in FILES if official.trained_on in by_task}
    texts = {}
    for official in FILES:
        task = cast(SentenceTask, registry.find(official.task))
        if official.name in rows:
            predictor = load_predictor(by_task[official.trained_on], task=task, out=out, watch=watch, device=device)
            values = _predicted(official, rows[official.name], predictor, watch)
        else:
            values = [task.labels[0] if task.labels else MIDDLE_SCORE] * official.rows
        lines = [f"{index}\t{official.spell(task, value)}\n" for index, value in enumerate(values)]
        texts[official.name] = "".join(["index\tprediction\n", *lines])
    _pack(file, texts)
    return {official.name: by_task.get(official.trained_on) for official in FILES}


def _runs_by_task(runs: Sequence[str], out: Path) -> dict[str, str]:
    """Runs by task name."""
    allowed = list(dict.fromkeys(official.trained_on for official in FILES))
    found: dict[str, str] = {}
    for run in runs:
        name = saved(run, out=out).task_name
        if name not in allowed:
            raise UserError(f"{run} was trained on {name}, which is not a GLUE task", f"Those are {', '.join(allowed)}")
        if name in found:
            raise UserError(f"{found[name]} and {run} were both trained on {name}", "Name one of them")
        found[name] = run
    return found


def _check_complete(by_task: Mapping[str, str]) -> None:
    missing = [official for official in FILES if official.trained_on not in by_task]
    if missing:
        recipes = " ".join(dict.fromkeys(f"glue-{official.trained_on}" for official in missing))
        raise UserError(
            f"no run was named for {', '.join(official.name for official in missing)}",
            f"Train them (finetune run {recipes}) and name them, or fill in constants with `fill_missing`",
        )


def _rows(official: OfficialFile, source: Source, watch: Watcher) -> Sequence[Row]:
    loaded = load_splits(registry.find(official.task), source, names=[official.split])[official.split]
    if len(loaded.rows) != official.rows:
        raise UserError(
            "; ".join(
                [
                    f"{official.name}: {loaded.origin} has {so_many(len(loaded.rows))}, GLUE {official.rows}",
                    *loaded.notes,
                ]
            ),
            "Use the official file, complete and unchanged",
        )
    for note in loaded.notes:
        watch(Note(note))
    return loaded.rows


def _predicted(official: OfficialFile, rows: Sequence[Row], predictor: Predictor, watch: Watcher) -> list[Any]:
    watch(Note(f"predicting {so_many(len(rows))} for {official.name}"))
    parts = [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
    return [answer.value for part in parts for answer in predictor.answers(part)]


def _pack(file: Path, texts: Mapping[str, str]) -> None:
    """Writes the zip atomically."""
    with output_file(file, remedy=OTHER_FILE) as scratch, zipfile.ZipFile(scratch, "w") as archive:
        for name, text in texts.items():
            archive.writestr(_entry(name), text)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=OLDEST_DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, wherever it is made
    entry.external_attr = 0o644 << 16
    return entry


def _by_number(task: SentenceTask, value: str) -> str:
    return str(task.labels.index(value))


def _by_name(_: SentenceTask, value: str) -> str:
    return value


def _as_score(_: SentenceTask, value: float) -> str:
    return f"{min(5.0, max(0.0, value)):.3f}"


FILES = (
    OfficialFile(name="CoLA.tsv", task="cola", rows=1063, spell=_by_number, trained_on="cola"),
    OfficialFile(name="SST-2.tsv", task="sst2", rows=1821, spell=_by_number, trained_on="sst2"),
    OfficialFile(name="MRPC.tsv", task="mrpc", rows=1725, spell=_by_number, trained_on="mrpc"),
    OfficialFile(name="STS-B.tsv", task="stsb", rows=1379, spell=_as_score, trained_on="stsb"),
    OfficialFile(name="QQP.tsv", task="qqp", rows=390_965, spell=_by_number, trained_on="qqp"),
    OfficialFile(name="MNLI-m.tsv", task="mnli", rows=9796, spell=_by_name, trained_on="mnli"),
    OfficialFile(
        name="MNLI-mm.tsv", task="mnli", split="test-mismatched", rows=9847, spell=_by_name, trained_on="mnli"
    ),
    OfficialFile(name="QNLI.tsv", task="qnli", rows=5463, spell=_by_name, trained_on="qnli"),
    OfficialFile(name="RTE.tsv", task="rte", rows=3000, spell=_by_name, trained_on="rte"),
    OfficialFile(name="WNLI.tsv", task="wnli", rows=146, spell=_by_number, trained_on="wnli"),
    OfficialFile(name="AX.tsv", task="ax", rows=1104, spell=_by_name, trained_on="mnli"),
)
