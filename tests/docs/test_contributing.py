"""What CONTRIBUTING tells to add can be added so."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.pages import CONTRIBUTING, blocks
from support.paths import ROOT
from support.reports import read, report, saved_run
from support.toys import cat_rows, cat_task

import finetune
from finetune.commands.report import all_runs, run, several, split
from finetune.commands.report.find_blocks import modules_of

FOLDERS = (all_runs, several, run, split)
ABOUT_ALL = '''"""How many runs there are."""

from finetune.commands.report.blocks import Block

ORDER = 5


def blocks(page):
    yield Block(title="Count", note=f"The page has {len(page.runs)} runs")
'''


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two runs with other seeds."""
    task, rows = cat_task(), cat_rows(8)
    return [saved_run(tmp_path / "out", task, rows, task.scoring.labels(rows), seed=seed) for seed in (1, 2)]


def add(source: str, package: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the package, until the test ends."""
    (folder / "added").mkdir()
    (folder / "added" / "added_here.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder / "added")])
    monkeypatch.delitem(sys.modules, f"{package.__name__}.added_here", raising=False)


def test_the_chart_of_the_page_is_one_of_the_report(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = (block for block in blocks("python", CONTRIBUTING) if "ORDER" in block)
    add(source, split, tmp_path, monkeypatch)
    text = read(report(tmp_path, runs[0])).text
    assert text.index("0 of 8 rows have an error") < text.rindex("Length of rows")
    assert "longest row" in text


def test_a_block_about_all_runs_needs_one_file(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(ABOUT_ALL, all_runs, tmp_path, monkeypatch)
    assert "The page has 2 runs" in read(report(tmp_path, *runs)).text
    assert "The page has" not in read(report(tmp_path, runs[0])).text


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.__name__.rpartition(".")[2])
def test_no_two_blocks_have_the_same_place(folder: ModuleType) -> None:
    orders = [module.ORDER for module in modules_of(folder)]
    assert len(orders) > 1
    assert len(set(orders)) == len(orders)


def test_a_command_is_a_folder(runs: list[Path], tmp_path: Path) -> None:
    listed, command = (block for block in blocks("python", CONTRIBUTING) if "LISTED" in block or "def count" in block)
    (tmp_path / "more" / "count").mkdir(parents=True)
    (tmp_path / "more" / "count" / "__init__.py").write_text(listed, encoding="utf-8")
    (tmp_path / "more" / "count" / "command.py").write_text(command, encoding="utf-8")
    start = f"import finetune.commands as c; c.__path__.append({str(tmp_path / 'more')!r})"
    start += "; from finetune.cli.app import main; main()"

    def typed(*arguments: str) -> str:
        done = subprocess.run([sys.executable, "-c", start, *arguments], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Count the runs of a task." in typed("--help")
    assert typed("count", "toy-cats", "--out", str(tmp_path / "out")) == "2 runs of toy-cats\n"


def test_the_names_of_the_api_are_in_three_places() -> None:
    """For type checkers, in `__all__`, and where they are imported from when they are first used."""
    tree = ast.parse(Path(str(finetune.__file__)).read_text(encoding="utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (str(node.module).removeprefix("finetune."), alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {(home, name) for home, names in finetune._HOMES.items() for name in names}
    assert {name for _, name in imported} == set(finetune.__all__)


def test_no_folder_of_results_is_named_like_a_file() -> None:
    """A run of a file is kept under the name of its data set, or in own-files/."""
    folders = [folder for folder in (ROOT / "results").iterdir() if folder.is_dir()]
    assert len(folders) > 10
    assert [folder.name for folder in folders if "." in folder.name.lstrip(".")] == []
