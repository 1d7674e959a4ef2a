"""A command on a terminal ends with what to do next, a command a line that can be pasted; what is piped has none."""

import shlex
from pathlib import Path

import pytest
from support.cli import Finetune
from support.runs import FAST, as_csv

from finetune.runs.settings import typed_settings
from finetune.training.targets import split_arguments


def printed_commands(text: str) -> list[list[str]]:
    """The arguments of the commands that are printed as next ones."""
    _, found, after = text.partition("next:\n")
    lines = after.splitlines()
    assert not found or (lines and all(line.startswith("  finetune ") for line in lines)), text
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.slow
def test_what_is_printed_runs_and_keeps_what_was_given(
    here: Finetune, tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a check to the model: each command is printed by the one before."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    rows = [(f"the cat sat {i}", f"a dog ran {i}", "ab"[i % 2], str(i % 3)) for i in range(40)]
    (tmp_path / "my rows.csv").write_text(as_csv(("body text", "title", "mark", "stars"), *rows))
    given = {**FAST, "train.epochs": 1, "text": "body text", "label": "mark", "model": tiny_bert}
    settings = [f"{name}={value}" for name, value in given.items()]
    checked = here("check", "my rows.csv", *settings, "--out", "my runs")
    train = next(command for command in printed_commands(checked.stdout) if command[0] == "run")
    assert {*settings, "--out", "my runs", "my rows.csv"} <= set(train)
    done: dict[str, str] = {}
    waiting = printed_commands(here(*train, "--device", "cpu").stdout) + printed_commands(here(*train, "seed=7").stdout)
    first, second = (run.name for run in (tmp_path / "my runs").glob("*/*") if (run / "record.json").is_file())
    waiting += [["compare", first, second, "--out", "my runs"], ["ls", "--out", "my runs"]]
    while waiting:
        command = ["my rows.csv" if argument == "FILE" else argument for argument in waiting.pop()]
        if (line := shlex.join(command)) in done or command[0] in ("serve", "label-next"):
            continue  # one does not end, the other has no new rows
        ran = here(*command)
        done[line] = ran.stdout
        assert ran.returncode == 0, f"{line}: {ran.stderr}"
        assert [*command, "--out", "my runs"][-2:] == ["--out", "my runs"]
        if command[0] not in ("run", "predict"):
            waiting += printed_commands(ran.stdout)
    assert {line.split()[0] for line in done} >= {"report", "show", "compare", "ls"}


def test_settings_are_typed_as_they_are_read() -> None:
    given = {"text": "a b", "label": "1", "n": 3, "rate": 2e-5, "names": {"0": "no"}, "layers": [4, 6], "on": True}
    assert split_arguments(typed_settings(given)) == ([], given)
