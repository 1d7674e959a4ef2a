"""What each command imports, and what stands in for imports that take seconds: its results are the same."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.records import made_record
from transformers import AutoTokenizer

from finetune.commands import COMMANDS
from finetune.errors import UserError
from finetune.models.tokenizers.load import FastTokenizer, load_fast_tokenizer
from finetune.runs.folder import write_predictions

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


def write_run(out: Path, name: str, wrong: int) -> None:
    """A finished run of RTE: its record and its predictions, of which so many are wrong."""
    labels = ("entailment", "not_entailment")
    folder = out / "rte" / name
    folder.mkdir(parents=True)
    lines = [
        {"id": str(i), "text": "a", "pair": "b", "gold": labels[i % 2], "prediction": labels[(i + (i < wrong)) % 2]}
        | {"probabilities": [0.5, 0.5]}
        for i in range(40)
    ]
    write_predictions(folder / "predictions-dev.parquet", lines, {})
    record = made_record(
        "rte", id=name, finished=name, recipe={"task": "rte", "seed": wrong, "limit": None}, model="minilm",
        rows={"dev": 40}, scores={"dev": {"accuracy": 1 - wrong / 40}}, baselines={"dev": {}},
    )  # fmt: skip
    (folder / "record.json").write_text(record.model_dump_json())


@pytest.fixture
def here(tmp_path: Path, tiny_albert: Path) -> Path:
    """A folder with two runs, a file of data and a link to an encoder."""
    for name, wrong in (("aaaaaaaaaa", 4), ("bbbbbbbbbb", 12)):
        write_run(tmp_path / "results", name, wrong)
    rows = "".join(f"the {word} cat sat {i},{'yn'[i % 2]}\n" for i, word in enumerate(["red", "blue"] * 30))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    (tmp_path / "encoder").symlink_to(tiny_albert)
    return tmp_path


def loaded_by(folder: Path, *commands: str) -> Iterator[tuple[str, int, set[str]]]:
    """(command, exit code, packages imported by it and those before it) of commands that one new Python runs."""
    done = subprocess.run([sys.executable, "-c", LOADED, *commands], cwd=folder, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"command"')]
    assert [each["command"] for each in found] == list(commands), done.stderr
    return ((each["command"], each["code"], set(each["modules"])) for each in found)


LIGHT = (
    *("--help", "ls", "show glue-mrpc", "show aaaaaaaaaa --predictions 2", "table glue", "init glue-mrpc"),
    *("compare aaaaaaaaaa bbbbbbbbbb", "compare aaaaaaaaaa bbbbbbbbbb --json", "init rows.csv", "run no-such-recipe"),
    *("check rows.csv model=encoder", "check rows.csv model=encoder --fix fixed.csv --json"),
    *(f"{command} --help" for command in COMMANDS),
)


def test_what_reads_files_imports_no_torch(here: Path) -> None:
    """In one process, since none may import it: the first that does is the one that fails."""
    for command, code, modules in loaded_by(here, *LIGHT):
        assert code == (2 if command == "run no-such-recipe" else 0), command
        assert HEAVY & modules == set(), command


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
