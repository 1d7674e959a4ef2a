"""A pushed model loads from the Hub: the commands of its card answer as the run does, with finetune and without."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.hub import TOKEN, User
from support.hub_server import HubServer
from support.runs import DATA, NO_CLASS, FinishedRun

pytestmark = pytest.mark.nightly
THEIRS = """
import json, sys, torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model = AutoModelForSequenceClassification.from_pretrained("me/sentence", dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained("me/sentence")
found = model(**tokenizer("the cat sat 3", return_tensors="pt")).logits.softmax(-1)[0].tolist()
import finetune
own = finetune.load(sys.argv[1])("the cat sat 3")
print(json.dumps([found, list(own.probabilities)]))
"""


@pytest.mark.parametrize("kind", DATA)
def test_a_pushed_model_answers_as_its_run(
    finished_run: FinishedRun, hub: HubServer, tmp_path: Path, kind: str
) -> None:
    run, name = finished_run(kind), f"me/{kind.replace(' ', '-')}"
    data = run.parents[2] / DATA[kind][0]
    user = User(tmp_path, hub.url)
    shutil.copy(data, tmp_path / f"new{data.suffix}")
    pushed = user.finetune("push", str(run), name, "--yes", HF_TOKEN=TOKEN)
    assert pushed.returncode == 0 and pushed.stdout.strip() == f"{hub.url}/{name}", pushed.stderr
    assert TOKEN not in pushed.stderr + (run / "record.json").read_text()

    card = hub.repositories["model", name].files["README.md"].decode()
    command, *codes = (re.findall(rf"```{language}\n(.*?)\n```", card, re.DOTALL) for language in ("bash", "python"))
    (typed,), (load, *alone) = command, codes[0]
    assert len(alone) == (kind not in NO_CLASS)
    predicted = user.python("-m", *shlex.split(typed))
    assert predicted.returncode == 0, predicted.stderr
    local = [*shlex.split(typed)[:-1], f"local{data.suffix}"]
    assert user.python("-m", *(str(run) if word == name else word for word in local)).returncode == 0
    assert (tmp_path / f"predictions{data.suffix}").read_bytes() == (tmp_path / f"local{data.suffix}").read_bytes()

    code = load.replace("print(", "first = repr(") + f"\nsecond = repr(finetune.load({str(run)!r})"
    call = re.search(r"print\(model(\(.*\))\)", load)
    assert call is not None
    for script in (f"{code}{call[1]})\nassert first == second, (first, second)", *alone):
        done = user.python("-c", script)
        assert done.returncode == 0, done.stderr
    if kind == "sentence":
        theirs, own = json.loads(user.python("-c", THEIRS, str(run)).stdout)
        assert theirs == pytest.approx(own, abs=5e-3)  # the run predicts in bf16
