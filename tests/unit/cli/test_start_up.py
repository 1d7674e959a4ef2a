"""What each command imports, and what stands in for imports that take seconds: its results are the same."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.records import change_record
from support.runs import FinishedRun
from transformers import AutoTokenizer

from finetune.commands import COMMANDS
from finetune.errors import UserError
from finetune.models.tokenizers.load import FastTokenizer, load_fast_tokenizer

HEAVY = {"torch", "transformers", "datasets", "evaluate", "accelerate", "sklearn"}  # each takes a second or more
LOADED = """
import json, sys
from finetune.cli.app import main
for command in sys.argv[1:]:
    sys.argv = ["finetune", *command.split()]
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    print(json.dumps({"command": command, "code": code, "modules": loaded}), file=sys.stderr)
"""


@pytest.fixture
def here(copied_run: FinishedRun, tmp_path: Path, tiny_albert: Path) -> Path:
    """A folder with two runs, a file of data and a link to an encoder."""
    first = copied_run("sentence")
    for name in ("aaaaaaaaaa", "bbbbbbbbbb"):
        change_record(shutil.copytree(first, first.with_name(name)) / "record.json", id=name)
    rows = "".join(f"the {word} cat sat {i},{'yn'[i % 2]}\n" for i, word in enumerate(["red", "blue"] * 30))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    (tmp_path / "encoder").symlink_to(tiny_albert)
    return tmp_path


LIGHT = (
    *("--help", "ls", "show glue-mrpc", "show aaaaaaaaaa --predictions 2", "table glue", "init glue-mrpc"),
    *("compare aaaaaaaaaa bbbbbbbbbb", "compare aaaaaaaaaa bbbbbbbbbb --json", "init rows.csv", "run no-such-recipe"),
    "check rows.csv model=encoder --fix fixed.csv --json",  # without --fix it tries a run, where there is torch
    *(f"{command} --help" for command in COMMANDS),
)


def test_what_reads_files_imports_no_torch(here: Path) -> None:
    """In one process, since none may import it: the first that does is the one that fails."""
    done = subprocess.run([sys.executable, "-c", LOADED, *LIGHT], cwd=here, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"command"')]
    assert [one["command"] for one in found] == list(LIGHT), done.stderr
    for one in found:
        assert one["code"] == (2 if one["command"] == "run no-such-recipe" else 0), one["command"]
        assert HEAVY & {*one["modules"]} == set(), one["command"]


def saved_again(folder: Path, to: Path) -> Path:
    """The tokenizer as transformers saves it, with tokenizer.json."""
    AutoTokenizer.from_pretrained(folder).save_pretrained(to)
    (to / "config.json").write_bytes((folder / "config.json").read_bytes())
    return to


def changed(file: Path, **values: Any) -> None:
    """A JSON file with some of its values replaced."""
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: changed(folder / "tokenizer_config.json", do_lower_case=False),
        lambda folder: changed(folder / "tokenizer_config.json", mask_token="[GAP]"),
        lambda folder: changed(folder / "tokenizer_config.json", split_special_tokens=True),
        lambda folder: changed(folder / "tokenizer.json", normalizer=None),
        lambda folder: (folder / "tokenizer_config.json").unlink(),
        lambda folder: (folder / "tokenizer.json").write_text("{"),
    ],
)
def test_settings_that_tokenizer_json_does_not_follow_need_transformers(
    tiny_bert: Path, tmp_path: Path, change: Callable[[Path], Any]
) -> None:
    folder = saved_again(tiny_bert, tmp_path)
    assert isinstance(load_fast_tokenizer(folder), FastTokenizer)
    change(folder)
    with suppress(UserError):  # damaged, which transformers' says too
        assert not isinstance(load_fast_tokenizer(folder), FastTokenizer)
