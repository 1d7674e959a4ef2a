"""A command on a terminal ends with what to do next, a command a line that can be pasted; what is piped has none."""

import shlex
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.records import run
from support.runs import FAST, as_csv

import finetune
from finetune.analysis.run_facts import next_commands
from finetune.cli.door import function_of
from finetune.cli.next_commands import GivenOptions
from finetune.runs.record import RunRecord, SavedMetric
from finetune.runs.record_files import load_record
from finetune.runs.settings import typed_settings
from finetune.training.targets import split_arguments


def printed_commands(text: str) -> list[list[str]]:
    """The arguments of the commands that are printed as next ones."""
    _, found, after = text.partition("next:\n")
    lines = after.splitlines()
    assert not found or (lines and all(line.startswith("  finetune ") for line in lines)), text
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls", "--out", "nowhere"], "run"),
        (["table"], "table glue"),
        (["table", "glue"], "table glue --form runs"),
        (["check", "rows.csv"], "run rows.csv"),
        (["check", "rows.csv", "--fix", "fixed.csv"], "run fixed.csv"),
        (["show", "RUN"], "report"),
    ],
)
def test_a_terminal_is_told_what_is_next_and_a_pipe_is_not(
    here: Finetune, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    (tmp_path / "rows.csv").write_text("text,label\n" + "".join(f"the cat sat {i},{'ab'[i % 2]}\n" for i in range(40)))
    typed = [argument.replace("RUN", str(reviews)) for argument in arguments]
    assert printed_commands(here(*typed).stdout) == []
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = printed_commands(here(*typed).stdout)
    assert any(shlex.join(command).startswith(words) for command in found), found


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


def test_a_diagnosis_is_the_same_in_show_python_and_the_report_and_its_command_runs(
    here: Finetune, tmp_path: Path, tiny_bert: Path
) -> None:
    rows = [(f"the {'cat' if i % 2 else 'dog'} sat {i}", "good" if i % 2 else "bad") for i in range(400)]
    (tmp_path / "my rows.csv").write_text(as_csv(("words", "my mark"), *rows))
    settings = ("label=my mark", "max_length=16", "train.batch_size=32", "train.epochs=2", "train.learning_rate=1e-9")
    given = ["my rows.csv", *settings, f"model={tiny_bert}", "--out", "my runs"]
    assert here("run", *given, "--device", "cpu").returncode == 0
    title, evidence, command = here("show", "my rows.csv", "--out", "my runs").stdout.splitlines()[:3]
    assert (title, "1e-09" in evidence) == ("diagnosis: loss never fell", True)
    typed = shlex.split(command)
    assert {*typed} == {"finetune", "run", *given, "train.learning_rate=0.001"} - {"train.learning_rate=1e-9"}
    found = finetune.open_run("my rows.csv", out="my runs")
    assert str(found.diagnosis).startswith(f"loss never fell: {evidence.strip()}")
    page = found.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Loss never fell" in page and "train.learning_rate=0.001" in page and str(tmp_path) not in page
    assert here(*typed[1:]).returncode == 0
    rates = [load_record(file).recipe["train"]["learning_rate"] for file in tmp_path.glob("my runs/*/*/record.json")]
    assert sorted(rates) == [1e-9, 1e-3]


def test_settings_are_typed_as_they_are_read() -> None:
    given = {"text": "a b", "label": "1", "n": 3, "rate": 2e-5, "names": {"0": "no"}, "layers": [4, 6], "on": True}
    assert split_arguments(typed_settings(given)) == ([], given)


@pytest.mark.parametrize("name", ["run", "search", "evaluate", "predict", "report", "show", "compare", "ls", "table"])
def test_a_command_has_the_options_that_it_takes(name: str) -> None:
    options = [one for one in signature(function_of(name)).parameters.values() if one.kind is one.KEYWORD_ONLY]
    taken = {"out", "data", "device"}.intersection(one.name.removesuffix("_folder") for one in options)
    given = GivenOptions(out=Path("my runs"), data=Path("d"), device="cpu")
    assert {option[2:] for option in shlex.split(given.command(name, "a"))[3::2]} == taken


def named(*names: str, score: float = 0.8, **settings: Any) -> list[RunRecord]:
    """Runs of other seeds with these ids."""
    return [run(score, seed=seed, **settings).model_copy(update={"id": name}) for seed, name in enumerate(names)]


LABEL = "label-next a FILE --rows 50 -o next.csv"
FEW_ROWS = {"labels": {"train": {"a": 5}}, "rows": {"train": 9}}
OF_TEXT = {
    "headline": "perplexity", "scores": {"dev": {"perplexity": 0.2}},
    "metrics": {"perplexity": SavedMetric(scale=1, greater_is_better=False, magnitudes=True)},
}  # fmt: skip


@pytest.mark.parametrize(
    ("records", "changed", "commands"),
    [
        (named("a"), {}, ["predict a FILE", "serve a", "show a", "report a"]),
        (named("a", "b"), {}, ["predict a FILE", "report a b", "show a"]),
        ([*named("a"), *named("c", task="cola")], {}, ["report a c", "show a"]),
        (named(*"abcdefghijk"), {}, ["predict a FILE", "show a"]),
        (
            [*named("a", "b"), *named("c", "d", frozen=True)], {},
            ["predict a FILE", "compare a c --seeds", "report a b c d", "show a"],
        ),
        (named("a", task="my reviews.csv"), FEW_ROWS, ["predict a FILE", "serve a", LABEL, "show a", "report a"]),
        (
            named("a", score=0.4, task="my reviews.csv"), FEW_ROWS,
            [LABEL, "check 'my reviews.csv'", "show a", "report a"],
        ),
        (named("a", task="corpus.txt"), OF_TEXT, ["run FILE model=a", "show a", "report a"]),
    ],
)  # fmt: skip
def test_what_is_next_after_runs(
    records: list[RunRecord], changed: dict[str, Any], commands: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my reviews.csv").write_text("text,label\n")
    assert [*map(shlex.join, next_commands([one.model_copy(update=changed) for one in records]))] == commands
