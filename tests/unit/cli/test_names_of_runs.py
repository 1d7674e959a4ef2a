"""Names that a user types for runs, files and models: what is found, and what is suggested where nothing is."""

from pathlib import Path

import pytest
from support.cli import Finetune, assert_error

ROWS = "text,label\n" + "".join(
    f"the cat saw {n} {w},{n}\n"
    for w in ("dog", "sun", "moon", "man", "road", "day", "tree", "bird")
    for n in ("one", "two")
)


@pytest.fixture
def films(tmp_path: Path, tiny_bert: Path, here: Finetune) -> str:
    """The id of a run on films.csv."""
    (tmp_path / "films.csv").write_text(ROWS)
    done = here("run", "films.csv", f"model={tiny_bert}", "train.epochs=1")
    assert done.returncode == 0, done.stderr
    (record,) = tmp_path.glob("results/films.csv/*/record.json")
    return record.parent.name


def test_show_of_a_file_shows_its_latest_run_or_its_recipe(here: Finetune, films: str, tmp_path: Path) -> None:
    assert films in here("show", "films.csv").stdout
    assert "[train]" in here("show", "films.csv", "max_length=32").stdout
    (tmp_path / "new.csv").write_text(ROWS)
    assert "[train]" in here("show", "new.csv").stdout


def test_of_several_runs_of_a_name_the_one_that_is_used_is_named(
    here: Finetune, films: str, tiny_bert: Path, tmp_path: Path
) -> None:
    (tmp_path / "pool.csv").write_text("text\nthe bird ran\na dog sat\n")
    commands = ("report {}", "view {} cat --word cat --sentences films.csv", "label-next {} pool.csv")
    for command in commands:
        assert films not in here(*command.format("films.csv").split()).stderr
    assert here("run", "films.csv", f"model={tiny_bert}", "seed=2", "train.epochs=1").returncode == 0
    for command in commands:
        assert films in here(*command.format("films.csv").split(), "--force").stderr
        assert "latest run" not in here(*command.format(films).split(), "--force").stderr


@pytest.mark.parametrize(
    "command",
    ["show {}", "predict {} films.csv", "evaluate {} films.csv", "report {}", "compare {} {}", "features {} films.csv"],
)
def test_an_unknown_run_is_answered_with_near_ids_and_files(here: Finetune, films: str, command: str) -> None:
    for typed, meant in (("film.csv", "'films.csv'"), (films[:-2] + "xx", f"'{films}'")):
        done = here(*command.format(typed, typed).split())
        assert done.returncode == 2
        assert_error(done.stderr, f"Did you mean {meant}?")
        assert "DryRunError" not in done.stderr


def test_a_hub_that_cannot_be_reached_is_named_in_plain_words(here: Finetune, films: str) -> None:
    assert_error(here("predict", "nothing", "films.csv").stderr, "is not a run in results, a folder, or a model that")
    for command in ("predict nothing films.csv", "run films.csv model=nothing"):
        done = here(*command.split())
        assert_error(done.stderr, "the Hub cannot be reached")
        assert "DryRunError" not in done.stderr


def test_run_suggests_a_file_with_a_near_name(here: Finetune, tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text(ROWS)
    assert_error(here("run", "film.csv").stderr, "Did you mean 'films.csv'?")


def test_help_of_run_names_data_files_first(here: Finetune) -> None:
    assert "Data files, recipes (names, patterns, files)" in here("run", "--help").stdout
