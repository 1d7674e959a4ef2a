"""What CONTRIBUTING tells to add can be added so."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.pages import CONTRIBUTING, blocks
from support.paths import ROOT
from support.reports import saved_run
from support.toys import cat_rows, cat_task


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two runs with other seeds."""
    task, rows = cat_task(), cat_rows(8)
    return [saved_run(tmp_path / "out", task, rows, task.labels_of(rows), seed=seed) for seed in (1, 2)]


def test_a_command_is_a_file_and_a_line(runs: list[Path], tmp_path: Path) -> None:
    command, listed = (block for block in blocks("python", CONTRIBUTING) if "Listed(" in block or "def count" in block)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "count.py").write_text(command, encoding="utf-8")
    start = f"import finetune.commands as c; c.__path__.append({str(tmp_path / 'more')!r}); Listed = c.Listed"
    start += f"; added = {{{listed.strip()}}}; c.GROUPS['Look'].update(added); c.COMMANDS.update(added)"
    start += "; from finetune.cli.app import main; main()"

    def typed(*arguments: str) -> str:
        done = subprocess.run([sys.executable, "-c", start, *arguments], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Count the runs of a task." in typed("--help")
    assert "The folder of runs." in typed("count", "--help")
    assert typed("count", "toy-cats", "--out", str(tmp_path / "out")) == "2 runs\n"
