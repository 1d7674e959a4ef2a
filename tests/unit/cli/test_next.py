"""A command on a terminal ends with what to do next, a command a line that can be pasted; what is piped has none."""

import shlex
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.records import run
from support.runs import FAST, FinishedRun, as_csv

from finetune.analysis.run_facts import next_commands
from finetune.analysis.run_tables import record_parts
from finetune.cli.console import Terminal
from finetune.cli.door import function_of
from finetune.cli.next_commands import GivenOptions
from finetune.cli.printing import TerminalFront
from finetune.runs.record import RunRecord, SavedMetric
from finetune.runs.settings import typed_settings
from finetune.training.targets import split_arguments

RUN_SETTINGS = {**FAST, "train.epochs": 1, "text": "body text", "label": "mark"}


def printed_commands(text: str) -> list[list[str]]:
    """The arguments of the commands that are printed as next ones."""
    _, found, after = text.partition("next:\n")
    lines = after.splitlines()
    assert not found or (lines and all(line.startswith("  finetune ") for line in lines)), text
    return [shlex.split(line)[1:] for line in lines]


def rows_file(folder: Path) -> Path:
    """A file of which no column is found without its settings."""
    rows = [("body text", "title", "mark", "stars")]
    rows += [(f"the cat sat {i}", f"a dog ran {i}", "ab"[i % 2], str(i % 3)) for i in range(40)]
    (folder / "my rows.csv").write_text(as_csv(*rows))
    return folder / "my rows.csv"


@pytest.mark.parametrize("kind", ["terminal", "pipe"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls"], "finetune run"),
        (["ls", "--out", "nowhere"], "finetune run"),
        (["table"], "finetune table glue"),
        (["table", "glue"], "finetune table glue --form runs"),
        (["table", "squad"], "finetune table squad -o squad.md"),
        (["check", "rows.csv"], "finetune run rows.csv"),
        (["check", "rows.csv", "--fix", "fixed.csv"], "finetune run fixed.csv"),
        (["show", "RUN"], "finetune report"),
        (["show", "RUN", "--all"], "finetune report"),
    ],
)
def test_next(
    here: Finetune, finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str,
    arguments: list[str], words: str,
) -> None:  # fmt: skip
    if kind == "terminal":
        monkeypatch.setenv("FORCE_COLOR", "1")
    (tmp_path / "rows.csv").write_text("text,label\n" + "".join(f"the cat sat {i},{'ab'[i % 2]}\n" for i in range(40)))
    done = here(*[argument.replace("RUN", str(finished_run("sentence"))) for argument in arguments])
    found = [" ".join(["finetune", *command]) for command in printed_commands(done.stdout)]
    assert any(words in command for command in found) == (kind == "terminal"), done.stdout + done.stderr


@pytest.mark.slow
def test_what_is_printed_runs_and_keeps_what_was_given(
    here: Finetune, tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a check to the model: each command is printed by the one before."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    file = rows_file(tmp_path)
    settings = [f"{name}={value}" for name, value in RUN_SETTINGS.items()]
    checked = here("check", file.name, *settings, f"model={tiny_bert}", "--out", "my runs")
    train = next(command for command in printed_commands(checked.stdout) if command[0] == "run")
    assert {*settings, f"model={tiny_bert}", "--out", "my runs", "my rows.csv"} <= set(train)
    trained = here(*train, "--device", "cpu")
    other = here(*train, "seed=7")
    done: dict[str, str] = {}
    waiting = printed_commands(trained.stdout) + printed_commands(other.stdout)
    first, second = (run.name for run in (tmp_path / "my runs").glob("*/*") if (run / "record.json").is_file())
    waiting += [["compare", first, second, "--out", "my runs"], ["ls", "--out", "my runs"]]
    while waiting:
        command = [file.name if argument == "FILE" else argument for argument in waiting.pop()]
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


def test_a_command_has_the_options_that_it_takes() -> None:
    given = GivenOptions(out=Path("my runs"), data=Path("d"), device="cpu")
    for name in ("run", "search", "evaluate", "predict", "report", "show", "compare", "ls", "table", "check"):
        options_of = [one for one in signature(function_of(name)).parameters.values() if one.kind is one.KEYWORD_ONLY]
        taken = {"out", "data", "device"}.intersection(one.name.removesuffix("_folder") for one in options_of)
        assert name != "check" or taken == {"out", "data", "device"}  # which data of one's own does not need
        if name != "check":
            options = shlex.split(given.command(name, "a"))[3:]
            assert {option[2:] for option in options[::2]} == taken, name


def test_a_run_that_is_named_by_its_folder_is_found_again(
    here: Finetune, copied_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    run = copied_run("sentence")
    run.parents[1].rename(tmp_path / "elsewhere")
    for command in printed_commands(here("show", Path("elsewhere", run.parent.name, run.name)).stdout):
        assert here(*command).returncode == 0


def test_show_has_card_and_verdict_first_then_scores_and_six_facts(here: Finetune, finished_run: FinishedRun) -> None:
    run = finished_run("sentence")
    short, whole = here("show", run).stdout.splitlines(), here("show", run, "--all").stdout.splitlines()
    assert short[0] == "diagnosis: dev too small to tell" and short[2].startswith("  finetune run ")
    assert " than " in short[3] and short[4].startswith("  Dev ")
    assert "│ dev   │ this run" in "\n".join(short[:13]) and "majority" in "\n".join(short[:13])
    facts = short[short.index("facts") + 2 :]
    assert [line.split()[1] for line in facts[:6]] == ["model", "settings", "rows", "data", "trained", "folder"]
    assert "peak_memory_bytes" in "\n".join(whole) and "peak_memory_bytes" not in "\n".join(short)


def named(*names: str, **settings: Any) -> list[RunRecord]:
    """Runs of other seeds with these ids."""
    return [run(0.8, seed=seed, **settings).model_copy(update={"id": name}) for seed, name in enumerate(names)]


def after(*records: RunRecord) -> list[str]:
    """The next commands, without `finetune`."""
    return list(map(shlex.join, next_commands(records)))


def test_seeds_of_one_setting_are_reported_and_only_settings_are_compared() -> None:
    assert after(*named("a")) == ["predict a FILE", "serve a", "show a", "report a"]
    assert after(*named("a", "b")) == ["predict a FILE", "report a b", "show a"]
    several = [*named("a", "b"), *named("c", "d", frozen=True)]
    assert after(*several)[:3] == ["predict a FILE", "compare a c --seeds", "report a b c d"]
    assert after(*named("a"), *named("c", frozen=True))[1] == "compare a c"
    assert after(*named("a"), *named("c", task="cola")) == ["report a c", "show a"]
    assert after(*named(*"abcdefghijk")) == ["predict a FILE", "show a"]


def test_few_rows_are_followed_by_more_labels_and_a_worse_run_by_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my reviews.csv").write_text("text,label\n")
    good, worse = (
        run(score, task="my reviews.csv").model_copy(update={"labels": {"train": {"a": 5}}, "rows": {"train": 9}})
        for score in (0.9, 0.4)
    )
    label = "label-next 1 FILE --rows 50 -o next.csv"
    assert after(good) == ["predict 1 FILE", "serve 1", label, "show 1", "report 1"]
    assert after(worse) == [label, "check 'my reviews.csv'", "show 1", "report 1"]


def test_a_note_of_several_runs_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    records = [record.model_copy(update={"notes": ["the same", record.id]}) for record in named("a", "b")]
    front = TerminalFront(given=GivenOptions(), quiet=False)
    for record in records:
        front.print(record_parts(record), Terminal())
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert lines == ["note: the same", "note: a", "note: b"]


def test_the_encoder_of_a_text_is_fine_tuned_however_it_compares() -> None:
    for score in (0.2, 0.9):
        of_text = {
            "headline": "perplexity",
            "scores": {"dev": {"perplexity": score}},
            "baselines": {"dev": {"bigram": {"perplexity": 0.5}}},
            "metrics": {"perplexity": SavedMetric(scale=1, greater_is_better=False, magnitudes=True)},
        }
        made = run(score, task="corpus.txt").model_copy(update=of_text)
        assert after(made) == [f"run FILE model={made.id}", f"show {made.id}", f"report {made.id}"]
