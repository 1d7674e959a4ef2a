"""The Python API as a script calls it: nothing on standard output or error; how fast an import and a command start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import Finetune
from support.paths import ROOT

SCRIPT = """
import sys, signal
import pandas as pd
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
import finetune
from datasets import Dataset
model, out = sys.argv[1], "runs"
rows = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(40)]
df = pd.DataFrame(rows, columns=["review", "stars"])
small = dict(model=model, max_length=16, train={"epochs": 1}, out=out)
run = finetune.run(df, text="review", label="stars", seeds=2, **small)
run.scores, run.baselines, run.predictions, run.record, run.folder
assert len(run.model.predict(df)) == 40
run.model.predict(Dataset.from_pandas(df))
run.model.transformers()
run.report()
other = finetune.run(df, text="review", label="stars", seed=9, **small)
finetune.compare(run, other), finetune.check(df), finetune.evaluate(run.model, df)
finetune.open_run(other.id, out=out), finetune.load(other.folder)("the cat sat")
assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
from transformers.utils import logging
assert logging.is_progress_bar_enabled() and logging.get_verbosity() == logging.WARNING
print("asked for", file=sys.stderr)
finetune.run(df, text="review", label="stars", seed=11, progress=True, **small)
"""
LAZY = """
import sys, time
started = time.process_time()
import finetune
seconds = time.process_time() - started
finetune.run  # what trains is imported, torch is not
finetune.table, finetune.evaluate, finetune.compare, finetune.check, finetune.open_run, finetune.UserError
assert "torch" not in sys.modules and "transformers" not in sys.modules
print(seconds)
"""


def script(text: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    return subprocess.run(
        [sys.executable, "-c", text, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_nothing_is_printed_that_was_not_asked_for(tiny_bert: Path, tmp_path: Path) -> None:
    done = script(SCRIPT, str(tiny_bert), folder=tmp_path)
    unasked, _, shown = done.stderr.partition("asked for\n")
    assert (done.returncode, done.stdout, unasked) == (0, "", "")
    assert "finished: runs/data.parquet/" in shown


def test_an_import_takes_no_time_and_loads_no_torch(tmp_path: Path) -> None:
    for _ in range(3):  # another process may take the time
        done = script(LAZY, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        if float(done.stdout) < 0.2:  # about 0.02; torch takes more than one
            return
    pytest.fail(f"{done.stdout} s")


def test_help_is_instant(finetune: Finetune) -> None:
    """In seconds of the processor, which other work on the machine does not lengthen."""
    seconds = []
    for _ in range(3):
        before = os.times()
        assert "evaluate" in finetune("--help").stdout
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
        if seconds[-1] < 0.3:
            return
    pytest.fail(f"{seconds} s")
