"""What is sent to another process, in which order, and how it is trained there."""

import pickle
from pathlib import Path

import pytest
import torch

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.engine import Diverged
from finetune.machines.place import set_threads
from finetune.runs.record import RunRecord
from finetune.task_types.candidates import Ambiguous
from finetune.training.executors import remote
from finetune.training.executors.job import Job, RunOptions
from finetune.training.executors.order import longest_first
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
        there = pickle.loads(pickle.dumps(remote.sent(job, threads=1, wait=True)))
        monkeypatch.chdir("/")
        record = remote.train_sent(there)
        assert torch.get_num_threads() == 1
    finally:
        set_threads(threads)
    assert isinstance(record, RunRecord)
    assert (record.task, [file.name for file in tmp_path.glob("results/rows.csv/*/record.json")]) == (
        "rows.csv", ["record.json"]
    )  # fmt: skip
