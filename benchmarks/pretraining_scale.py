"""What many sequences and a large text cost: seconds to the first update, memory and disk."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import machine
from measuring import fresh
from pretraining_job import Job, train_ours

ROOT = Path(__file__).resolve().parents[1]
WHOLE = 400  # updates of a whole run; with fewer a CPU's library has compiled less
LINE = "the cat sat on line {}"  # of the corpus of many sequences


def many_sequences(job: Job, count: int) -> dict[str, float]:
    """Seconds to the first update, and memory, of a first and a second start on a corpus of so many documents."""
    with TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        text = Path(scratch) / "corpus.txt"
        with text.open("w", encoding="utf-8") as file:
            file.writelines(LINE.format(number) + "\n" for number in range(count))
        job = replace(job, text=text, updates=4)
        first, second = (fresh(train_ours, job) for _ in range(2))
    return {
        "sequences": count,
        "first_start_seconds": first.first_update,
        "second_start_seconds": second.first_update,
        "second_start_bytes": second.memory,
    }


def large_text(job: Job, text: Path) -> dict[str, float]:
    """Bytes of a text and of its token file, its tokens, seconds and memory of a first and a second start, and the
    memory of a whole run.
    """
    with TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        job = replace(job, text=text, updates=4)
        first, second = (fresh(train_ours, job) for _ in range(2))
        written = sum(file.stat().st_size for file in (Path(scratch) / "tokens").rglob("*") if file.is_file())
        (ids,) = (Path(scratch) / "tokens").rglob("ids")
        tokens = ids.stat().st_size // 2  # of a vocabulary of at most 65,536
        command = whole_command(replace(job, updates=WHOLE), Path(scratch) / "results")
    return {
        "text_bytes": text.stat().st_size,
        "tokens": tokens,
        "disk_bytes": written,
        "first_start_seconds": first.first_update,
        "first_start_bytes": first.memory,
        "second_start_seconds": second.first_update,
        "second_start_bytes": second.memory,
        **command,
    }


def whole_command(job: Job, out: Path) -> dict[str, float]:
    """The most memory of `finetune run`, scores and baselines too: all that is resident, and without mapped files."""
    settings = [f"model={job.model}", f"tokenizer={job.vocabulary}", f"max_length={job.length}", f"seed={job.seed}"]
    training = [f"train.updates={job.updates}", f"train.batch_size={job.batch_size}", "--out", str(out), "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "finetune", "run", str(job.text), "shape=text", *settings, *training],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    most, own = 0, 0
    while process.poll() is None:
        found = machine.memory(process.pid)
        most, own = max(most, found.get("VmHWM", 0)), max(own, found.get("RssAnon", 0))
        time.sleep(0.01)
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    return {"command_bytes": most, "command_own_bytes": own, "command_updates": job.updates}
