"""What somebody else wrote is data: no folder, no file and no text of theirs runs code or moves the terminal."""

import json
import re
import shutil
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune, assert_error
from support.records import change_config, change_record
from support.toys import OWN_TASK

import finetune as package
from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.models.model_folder import load_config, load_trained
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.classification.task import SentenceTask


def rewrite(file: Path, **facts: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | facts), encoding="utf-8")


@pytest.fixture
def sent(here: Finetune, tiny_bert: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A results folder that somebody sent, with the task's file in it; and the file that its code would write."""
    (tmp_path / "mine.py").write_text(OWN_TASK)
    settings = ["glue-rte", "task=mine.py:mine", f"model={tiny_bert}", "train.epochs=1"]
    assert here("run", *settings, "--seeds", "2").returncode == 0
    (tmp_path / "results").rename(tmp_path / "sent")
    (tmp_path / "mine.py").unlink()
    marker = tmp_path / "code-ran"
    code = f"from pathlib import Path\nPath({str(marker)!r}).touch()\n{OWN_TASK}"
    (tmp_path / "sent" / "mine.py").write_text(code)
    name = f"{tmp_path / 'sent' / 'mine.py'}:mine"
    for run in (tmp_path / "sent" / "mine").iterdir():
        config, record = run / "model" / "config.json", run / "record.json"
        change_config(run / "model", finetune=json.loads(config.read_text())["finetune"] | {"task": name})
        change_record(record, recipe=json.loads(record.read_text())["recipe"] | {"task": name})
    return tmp_path / "sent" / "mine", marker


def test_the_task_file_of_a_folder_that_was_sent_does_not_run(
    sent: tuple[Path, Path], here: Finetune, tmp_path: Path
) -> None:
    folder, marker = sent
    runs = sorted(str(run) for run in folder.iterdir())
    (tmp_path / "new.csv").write_text("id,text\n1,the cat sat\n2,a dog ran\n")
    for name in (runs[0], f"{runs[0]}/model"):
        with pytest.raises(UserError, match=r"mine\.py:mine.*is not run unless you name it"):
            package.load(name)
    for command in (
        ["predict", runs[0], "new.csv"],
        ["predict", "mine", "new.csv", "--out", "sent"],
        ["compare", *runs],
        ["submission", runs[0], "-o", "glue.zip"],
        ["evaluate", runs[0], "new.csv"],
    ):
        done = here(*command)
        assert (done.returncode, marker.exists()) == (2, False), command
        assert_error(done.stderr, "mine.py:mine")
    for command in (["show", runs[0], "--predictions", "3"], ["report", *runs], ["ls", "--out", "sent"]):
        done = here(*command)
        assert (done.returncode, marker.exists()) == (0, False), done.stderr


def test_a_task_file_runs_where_the_user_names_it(sent: tuple[Path, Path], here: Finetune, tmp_path: Path) -> None:
    folder, _ = sent
    runs = sorted(str(run) for run in folder.iterdir())
    (tmp_path / "checked.py").write_text(OWN_TASK)
    (tmp_path / "new.csv").write_text("id,text\n1,the cat sat\n2,a dog ran\n")
    done = here("predict", runs[0], "new.csv", "text=text", "--task", "checked.py:mine")
    assert (done.returncode, (tmp_path / "new.predicted.csv").exists()) == (0, True), done.stderr
    done = here("compare", *runs, "--task", "checked.py:mine")
    assert (done.returncode, "accuracy" in done.stdout) == (0, True), done.stderr
    assert package.load(runs[0], task="checked.py:mine")("the cat sat").value in ("0", "1")
    other = here("compare", *runs, "--task", "rte")
    assert other.returncode == 2
    assert "is of mine, not of rte" in other.stderr


@pytest.mark.parametrize("kind", ["known", "unknown"])
@pytest.mark.parametrize("where", ["config.json", "tokenizer_config.json"])
def test_the_code_of_a_model_folder_does_not_run(
    where: str, kind: str, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto_map` names Python files of the folder, for a kind of model that transformers knows, or does not."""
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    marker = tmp_path / "code-ran"
    (folder / "evil.py").write_text(f"from pathlib import Path\nPath({str(marker)!r}).touch()\nclass Evil: pass\n")
    kinds = ["AutoConfig", "AutoModel", "AutoModelForSequenceClassification"]
    names: dict[str, Any] = dict.fromkeys(kinds, "evil.Evil") | {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}
    rewrite(folder / where, auto_map=names)
    if kind == "unknown":
        rewrite(folder / where, **{"model_type" if where == "config.json" else "tokenizer_class": "evil"})
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # whoever is asked may say yes to anything
    task = SentenceTask(name="any", read=None, labels=("a", "b"), metrics=())  # type: ignore[arg-type]
    for use in (load_config, load_tokenizer, lambda place: load_trained(place, task.head), load_predictor):
        with suppress(UserError):
            use(folder)  # type: ignore[operator]
        assert not marker.exists()


def test_a_config_does_not_choose_the_attention(tiny_bert: Path, tmp_path: Path) -> None:
    """It could name a kernel, which is code that transformers would fetch and run."""
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    rewrite(folder / "config.json", attn_implementation="somebody/some-kernel")
    assert load_config(folder)._attn_implementation is None


BAD = "\x1b[31mred\x1b[0m \x9b2J \u202eabc [bold]big[/bold] [/x] :cat: \x07"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A file whose name, columns, labels and texts hold what a terminal would obey."""
    folder = tmp_path / "data[/x]"
    folder.mkdir(parents=True)
    file = folder / "file\x1b[31m[bold].jsonl"
    rows = [
        {"text": f"the {'cat' if i % 2 else 'dog'} sat {i} {BAD}", "label\x1b[1m[0]": f"{'ab'[i % 2]} {BAD}"}
        for i in range(60)
    ]
    lines = [json.dumps(row) for row in rows] + ['{"broken \x1b[31m']
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file.relative_to(tmp_path))


@pytest.mark.slow
def test_no_text_of_others_reaches_the_terminal_as_a_command(
    hostile: str, here: Finetune, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    label = "label=label\x1b[1m[0]"
    seen = ""
    fast = [f"model={tiny_bert}", "train.epochs=1", "text=text", label]
    out = "--out=results[/x]"
    for command, code in (
        (["check", hostile, *fast], 0),
        (["init", hostile, *fast], 0),
        (["run", hostile, *fast, out], 0),
        (["run", hostile, *fast, out], 0),
        (["run", hostile, *fast, "seed=1", out], 0),
        (["ls", out], 0),
        (["predict", "RUN", hostile, "-o", "[x].csv", out], 0),
        (["evaluate", "RUN", hostile, out], 0),
        (["show", "RUN", "--predictions", "5", out], 0),
        (["compare", "RUN", "RUN2", out], 0),
        (["show", "no \x1b[31m[/x] such"], 2),
        (["run", hostile, "text=no \x1b[31m[/x] such"], 2),
        (["predict", "RUN", f"{hostile}\x1b[31m", out], 2),
    ):
        runs = sorted(file.parent.name for file in (tmp_path / "results[/x]").glob("*/*/record.json"))
        names = dict(zip(("RUN", "RUN2"), runs, strict=False))
        done = here(*(names.get(word, word) for word in command))
        assert done.returncode == code, (command, done.stdout, done.stderr)
        assert RAW.findall(done.stdout + done.stderr) == [], command
        seen += done.stdout + done.stderr
        if command[0] == "init":
            assert tomllib.loads(done.stdout)["task"] == hostile
    for shown in (r"\u001b[31mred\u001b[0m \u009b2J \u202eabc [bold]big[/bold] [/x] :cat: \u0007", "data[/x]"):
        assert shown in seen
