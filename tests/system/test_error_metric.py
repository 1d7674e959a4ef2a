"""A task of a user's own file whose metric is an error: lower is better, and it is not shown times 100."""

import json
from pathlib import Path
from statistics import fmean

import pytest
from support.cli import Finetune

import finetune as package
from finetune.runs.record_files import all_records

TASK = """
from finetune.metrics import Metric
from finetune.task_types import Rows, SentenceRow, SentenceTask

def mean_error(gold, answers):
    return sum(abs(a - b) for a, b in zip(gold, answers)) / len(gold)

def read(source, split):
    rows = [SentenceRow(id=str(i), text='cat' if i % 2 else 'dog', gold=40.0 + 20 * (i % 2)) for i in range(32)]
    return Rows(rows=rows, origin='made up')

TASKS = [
    SentenceTask(name='mine', read=read, metrics=(Metric('error', mean_error, scale=1, greater_is_better=False),))
]
"""


def test_every_command_shows_errors_as_they_are(
    here: Finetune, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("error.py").write_text(TASK)
    settings = "[train]\nepochs = 2\nselect = 'best'\n\n[grid]\n'train.learning_rate' = [0.001, 0.01]\n"
    Path("error.toml").write_text(f'task = "error.py:mine"\nmodel = "{tiny_bert}"\n\n{settings}')
    done = here("run", "error.toml", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    records = {record.id: record for record in all_records(Path("results"))}
    rates: dict[float, list[float]] = {}
    for record in records.values():
        error = record.scores["dev"]["error"]
        assert error == min(epoch["headline"] for epoch in record.epochs)
        assert f" best {error:.1f}\n" in done.stderr
        rates.setdefault(record.recipe["train"]["learning_rate"], []).append(error)
    lowest = min(rates, key=lambda rate: fmean(rates[rate]))
    assert f"by error: train.learning_rate {lowest} " in done.stdout
    a, b, *_ = sorted(records.values(), key=lambda record: -record.scores["dev"]["error"])
    error_a, error_b = (one.scores["dev"]["error"] for one in (a, b))
    saved = json.loads(Path("results", "mine", a.id, "record.json").read_text())
    assert saved["metrics"] == {"error": {"scale": 1.0, "greater_is_better": False, "magnitudes": False, "decimals": 1}}
    Path("new.csv").write_text("text,score\n" + "cat,60\ndog,40\n" * 16)
    for command, shown in (
        (["ls"], f"error {error_a:.1f}"),
        (["show", a.id], f" {error_a:.1f} "),
        (["compare", a.id, b.id, "--task", "error.py:mine"], f"{error_b - error_a:+.1f}"),
        (["evaluate", a.id, "error.py:mine"], f"dev error {error_a:.1f}\n"),
        (["predict", a.id, "new.csv", "label=score", "--task", "error.py:mine", "--force"], f"\nerror {error_a:.1f}\n"),
    ):
        found = here(*command)
        assert (found.returncode, shown in found.stdout) == (0, True), (command, found.stdout, found.stderr)
    difference = package.compare(a.id, b.id, task="error.py:mine").frame["difference"].tolist()
    assert difference == [pytest.approx(error_b - error_a)]
