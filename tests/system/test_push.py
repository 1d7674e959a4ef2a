"""A pushed model loads from the Hub: the commands of its card answer as the run does, with finetune and without."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.hub import TOKEN, User
from support.hub_server import HubServer
from support.pages import DOCS, KOREAN, blocks
from support.paths import ROOT
from support.runs import DATA, NO_CLASS, FinishedRun
from support.served import serve_process

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


def test_the_model_of_the_demo_gets_to_the_hub_and_back_by_the_commands_of_the_page(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (english,), (korean,) = (blocks("sh", folder / "how-to" / "publish.md") for folder in (DOCS, KOREAN))
    (demo,) = re.findall(r"\$\(BIN\)/(finetune run .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    make, export, serve, push, predict = english.strip().splitlines()
    assert (english == korean, make) == (True, "make demo")
    (tmp_path / "tasks").symlink_to(ROOT / "tasks")
    monkeypatch.chdir(tmp_path)
    user = User(tmp_path, hub.url)
    for typed in (
        demo,
        export,
        push,
        predict,
        "finetune predict paraphrase --out build/demo tasks/paraphrase-dev.csv -o here.csv",
    ):
        done = user.python("-m", *shlex.split(typed), HF_TOKEN=TOKEN)
        assert done.returncode == 0, (typed, done.stderr)
    with serve_process(*shlex.split(serve)[2:]) as server:
        answer = server.predict({"sentence1": "The castle fell.", "sentence2": "The castle fell."})
        assert {*answer.json()["predictions"][0]} == {"prediction", "p(different)", "p(same)"}
    assert (tmp_path / "from-the-hub.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
