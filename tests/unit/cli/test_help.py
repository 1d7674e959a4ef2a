"""`--help`, `--version`, and what a wrong command or option gives."""

import re
from pathlib import Path

import pytest
import torch
import transformers
from support.cli import Finetune, assert_error

import finetune as package
from finetune.commands import COMMANDS, FIRST, GROUPS
from finetune.runs.recipe import setting_fields
from finetune.task_types.columns import OPTIONS


def test_names_that_commands_have_elsewhere_lead_to_commands() -> None:
    also = [name for one in COMMANDS.values() for name in one.also]
    assert len(set(also)) == len(also) and not {*also} & {*COMMANDS}


def test_finetune_alone_shows_the_groups_and_the_users_own_file_first(here: Finetune) -> None:
    alone, asked = here(), here("--help")
    assert (alone.returncode, alone.stderr, alone.stdout) == (0, "", asked.stdout)
    places = [alone.stdout.index(f"\n{group}:\n") for group in GROUPS]
    assert places == sorted(places)
    assert [*GROUPS] == ["Train", "Use", "Data", "Look"]
    assert all(
        re.search(rf"^  {name} +{re.escape(one.help)}$", alone.stdout, re.MULTILINE) for name, one in COMMANDS.items()
    )
    first = alone.stdout.partition("Examples:\n")[2].strip().splitlines()[0]
    assert "reviews.csv" in first and FIRST[0][0] in first


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_ends_with_examples(here: Finetune, command: str) -> None:
    shown = here(command, "--help").stdout
    examples = shown.partition("Examples:\n")[2]
    assert examples.strip().splitlines()[0].startswith(f"finetune {command}")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("command", ["", "run", "explain"])
def test_help_fits_a_narrow_terminal(here: Finetune, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    width = 60
    monkeypatch.setenv("COLUMNS", str(width))
    shown = here(*filter(None, [command]), "--help").stdout
    wider = [line for line in shown.splitlines() if len(line) > width]
    assert all(line.startswith(("Usage: ", "  finetune ", "  --")) for line in wider), wider


def test_the_help_of_run_has_the_settings_that_everyone_needs_first(here: Finetune) -> None:
    shown = here("run", "--help").stdout
    settings, _, options = shown.partition("\nArguments:\n")
    names = [line.split("=")[0].strip() for line in settings.partition("Settings")[2].splitlines()[1:] if "=" in line]
    assert names[:3] == ["label", "text", "model"] and "train.epochs" in names
    assert {*names} <= {*OPTIONS, *setting_fields()}
    assert options.index("--seeds") < options.index("--out") < options.index("--no-wait")


def test_version_has_the_libraries_and_the_device_in_two_lines(here: Finetune) -> None:
    done = here("--version")
    ours, libraries = done.stdout.splitlines()
    assert done.returncode == 0 and package.__version__ in ours and "Python 3." in ours
    assert torch.__version__ in libraries and transformers.__version__ in libraries and "device " in libraries


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu", "reviews.csv"], ["'rnu'", "Did you mean 'run'"]),
        (["train", "reviews.csv"], ["'train'", "Did you mean 'run'?"]),
        (["fit", "reviews.csv"], ["'fit'", "Did you mean 'run'?"]),
        (["eval", "reviews.csv"], ["'eval'", "Did you mean 'evaluate'?"]),
        (["reviews.csv"], ["'reviews.csv' is a file", "finetune run reviews.csv"]),
        (["run", "https://a.b/x.csv?raw=1"], ["is a URL", "`curl -L -o x.csv 'https://a.b/x.csv?raw=1'`"]),
        (
            ["run", "reviews.csv", "dev=https://a.b/x.csv"],
            ["is a URL", "Download it first: `curl -L -o x.csv https://"],
        ),
        (["init", "https://a.b/x.csv"], ["is a URL", "Download it first"]),
        (["check", "hf://datasets/a/b.csv"], ["is an address on another machine", "Download it first"]),
        (["predict", "RUN", "https://a.b/x.csv"], ["is a URL", "Download it first"]),
        (["evaluate", "RUN", "https://a.b/x.csv"], ["is a URL", "Download it first"]),
        (["features", "minilm", "https://a.b/x.csv"], ["is a URL", "Download it first"]),
        (["tokenizer", "https://a.b/x.txt", "-o", "v"], ["is a URL", "Download it first"]),
        (["--verison"], ["'--verison'", "Did you mean '--version'"]),
        (["run", "reviews.csv", "--sead", "3"], ["'--sead'", "'--seed'", "`finetune run --help`"]),
        (["predict", "a", "b", "--jason"], ["'--jason'", "Did you mean '--json'"]),
        (["run", "reviews.csv", "--epochs", "2"], ["'--epochs'", "Did you mean train.epochs=VALUE?"]),
        (["check", "reviews.csv", "--label", "stars"], ["'--label'", "Did you mean label=VALUE?"]),
        (["show", "reviews.csv", "--row", "3"], ["no option '--row'. `finetune show --help`"]),
        (["features", "minilm", "x", "--pool", "meen"], ["for '--pool': 'meen' is not one of"]),
        (["run"], ["targets", "`finetune run --help`"]),
        (["run", "x", "--seeds", "many"], ["--seeds", "integer"]),
        (["ls", "x", "y"], ["y", "`finetune ls --help`"]),
        (["table", "glue", "--form", "papre"], ["--form", "paper"]),
    ],
)
def test_a_wrong_command_or_option_is_one_line_with_the_nearest_name(
    here: Finetune, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "reviews.csv").write_text("text,label\na,b\n")
    done = here(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_error(done.stderr, *words)


def test_an_option_that_is_missing_is_named_as_it_is_typed(here: Finetune) -> None:
    done = here("tokenizer", "corpus.txt")
    assert done.returncode == 2
    assert_error(done.stderr, "'-o' / '--output'")
