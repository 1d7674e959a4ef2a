"""A pushed model loads from the Hub: the commands of its card answer as the run does, with finetune and without."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.hub import TOKEN
from support.hub_server import HubServer
from support.runs import DATA, NO_CLASS, FinishedRun

Finished = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Reader:
    """Someone in a folder of their own, without runs, for whom the Hub is at `url`."""

    folder: Path
    url: str

    def python(self, *arguments: str, **more: str) -> Finished:
        """Runs Python with the Hub of this machine, and waits for it."""
        ours = {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(self.folder / "hf"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1",
            "OMP_NUM_THREADS": "1",
            **more,
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=kept | ours, capture_output=True, text=True, timeout=300
        )


@pytest.mark.nightly
@pytest.mark.parametrize("kind", DATA)
def test_a_pushed_model_answers_as_its_run(
    finished_run: FinishedRun, hub: HubServer, tmp_path: Path, kind: str
) -> None:
    run, name = finished_run(kind), f"me/{kind.replace(' ', '-')}"
    data = run.parents[2] / DATA[kind][0]
    reader = Reader(tmp_path, hub.url)
    shutil.copy(data, tmp_path / f"new{data.suffix}")
    pushed = reader.python("-m", "finetune", "push", str(run), name, "--yes", HF_TOKEN=TOKEN)
    assert pushed.returncode == 0 and pushed.stdout.strip() == f"{hub.url}/{name}", pushed.stderr
    assert TOKEN not in pushed.stderr + (run / "record.json").read_text()

    card = hub.repositories["model", name].files["README.md"].decode()
    command, *codes = (re.findall(rf"```{language}\n(.*?)\n```", card, re.DOTALL) for language in ("bash", "python"))
    (typed,), (load, *alone) = command, codes[0]
    assert len(alone) == (kind not in NO_CLASS)
    predicted = reader.python("-m", *shlex.split(typed))
    assert predicted.returncode == 0, predicted.stderr
    local = [*shlex.split(typed)[:-1], f"local{data.suffix}"]
    assert reader.python("-m", *(str(run) if word == name else word for word in local)).returncode == 0
    assert (tmp_path / f"predictions{data.suffix}").read_bytes() == (tmp_path / f"local{data.suffix}").read_bytes()

    code = load.replace("print(", "first = repr(") + f"\nsecond = repr(finetune.load({str(run)!r})"
    call = re.search(r"print\(model(\(.*\))\)", load)
    assert call is not None
    ours = reader.python("-c", f"{code}{call[1]})\nassert first == second, (first, second)")
    assert ours.returncode == 0, ours.stderr
    for code in alone:
        theirs = reader.python("-c", code)
        assert theirs.returncode == 0, theirs.stderr


@pytest.mark.nightly
def test_transformers_gives_the_probabilities_of_the_run(
    finished_run: FinishedRun, hub: HubServer, tmp_path: Path
) -> None:
    run, reader = finished_run("sentence"), Reader(tmp_path, hub.url)
    assert reader.python("-m", "finetune", "push", str(run), "me/reviews", "--yes", HF_TOKEN=TOKEN).returncode == 0
    script = """
import json, sys, torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model = AutoModelForSequenceClassification.from_pretrained("me/reviews", dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained("me/reviews")
found = model(**tokenizer("the cat sat 3", return_tensors="pt")).logits.softmax(-1)[0].tolist()
import finetune
own = finetune.load(sys.argv[1])("the cat sat 3")
print(json.dumps([found, list(own.probabilities)]))
"""
    done = reader.python("-c", script, str(run))
    assert done.returncode == 0, done.stderr
    theirs, own = json.loads(done.stdout)
    assert theirs == pytest.approx(own, abs=5e-3)  # the run predicts in bf16
