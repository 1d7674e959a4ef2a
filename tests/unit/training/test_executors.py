"""What is sent to another process, in which order, and how it is trained there."""

import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from support.records import made_record

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.feature_batches import Diverged
from finetune.machines.place import Place, set_threads
from finetune.runs.events import unwatched
from finetune.runs.folder import RECORD, Locked, RunFolder
from finetune.runs.record import RunRecord
from finetune.task_types.candidates import Ambiguous
from finetune.training.executors import on_ray, remote
from finetune.training.executors.job import Job
from finetune.training.executors.order import longest_first
from finetune.training.executors.packed import PackedRun
from finetune.training.executors.sweep import Sweep
from finetune.training.run_options import RunOptions
from finetune.training.targets import expand_targets


def jobs(out: Path, *targets: str, data: Path | None = None, **settings: object) -> list[Job]:
    """The jobs of a command."""
    options = RunOptions(source=Source(folder=data), out=out)
    return [Job(planned=one, options=options, named=True) for one in expand_targets([*targets], settings)]


@pytest.mark.parametrize(
    "error",
    [UserError("a", "b"), Diverged("c"), Ambiguous("d", [("label=x", "a word")])],
    ids=lambda e: type(e).__name__,
)
def test_an_error_comes_whole_from_another_process(error: UserError) -> None:
    there = pickle.loads(pickle.dumps(error))
    assert (type(there), there.what, there.way_out, str(there)) == (
        type(error), error.what, error.way_out, str(error)
    )  # fmt: skip


def test_the_longest_run_comes_first(rte: Path, tmp_path: Path) -> None:
    some = [
        *jobs(tmp_path, "glue-rte", data=rte, **{"train.epochs": 1}),
        *jobs(tmp_path, "glue-rte", data=rte, **{"train.epochs": 3}),
        *jobs(tmp_path, "glue-rte", data=rte, **{"train.epochs": 2, "max_length": 32}),
        *jobs(tmp_path, "glue-mrpc", data=rte, **{"train.epochs": 9}),  # whose data is not there
    ]
    assert longest_first(some) == [1, 0, 2, 3]


def test_a_sent_job_is_trained_from_its_folder_with_its_threads(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"the {'cat' if i % 2 else 'dog'} sat {i},{'good' if i % 2 else 'bad'}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    (job,) = jobs(Path("results"), "rows.csv", model=str(tiny_bert), max_length=16, **{"train.epochs": 1})
    try:
        there = pickle.loads(pickle.dumps(remote.sent(job, place=Place(folder=tmp_path, threads=1), wait=True)))
        monkeypatch.chdir("/")
        record = remote.train_sent(there)
        assert torch.get_num_threads() == 1
    finally:
        set_threads(threads)
    assert isinstance(record, RunRecord)
    assert (record.task, [file.name for file in tmp_path.glob("results/rows.csv/*/record.json")]) == (
        "rows.csv", ["record.json"]
    )  # fmt: skip


@pytest.mark.parametrize(("rank", "kind"), [("0", PackedRun), ("1", RunRecord)])
def test_of_several_processes_the_first_one_sends_the_run_back(
    rank: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = made_record("rte")
    folder = RunFolder.of(tmp_path / "there", record.task, record.id).path
    folder.mkdir(parents=True)
    (folder / RECORD).write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setattr(remote, "folder_here", lambda out: tmp_path / "there")
    monkeypatch.setattr(remote, "_trained", lambda job, watch: record)
    (job,) = jobs(tmp_path, "glue-rte")
    place = Place(folder=tmp_path, threads=torch.get_num_threads())
    assert type(remote.train_sent(remote.sent(job, place=place, wait=True, collect="all"))) is kind


class Elsewhere:
    """A Ray and its clock: until second 20 another command trains one run, and the other one is under way."""

    def __init__(self) -> None:
        self.now = 0.0
        self.started: list[str] = []

    def start(self, job: remote.SentJob) -> str:
        self.started.append("long" if job.recipe.train.epochs == 3 else "locked")
        return f"{self.started[-1]} {len(self.started)}"

    def wait(self, references: Sequence[str], *, num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        ready = [one for one in references if one.startswith("locked") or self.now >= 20][:num_returns]
        self.sleep(0.1 if ready else timeout)
        return ready, [one for one in references if one not in ready]

    def get(self, reference: str) -> UserError:
        locked = reference.startswith("locked") and self.now < 20
        return Locked("another process trains it") if locked else UserError("it has ended")

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("others", [1, 0], ids=["with another under way", "the only one"])
def test_a_run_that_another_command_trains_is_tried_again_after_a_while(
    others: int, rte: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Elsewhere()
    monkeypatch.setattr(on_ray, "time", there)
    some = jobs(tmp_path, "glue-rte", data=rte, **{"train.epochs": 3})[:others]
    some += jobs(tmp_path, "glue-rte", data=rte, **{"train.epochs": 1})
    place = Place(folder=tmp_path, threads=1)
    sweep = Sweep(jobs=some, watch=unwatched)
    found = on_ray._Tasks(ray=there, start=there.start, place=place, most=2, collect="", sweep=sweep).run()
    assert list(map(str, found)) == ["it has ended"] * len(some)
    assert there.started.count("long") == others
    assert 3 <= there.started.count("locked") <= 20 / on_ray.PATIENCE + 1
