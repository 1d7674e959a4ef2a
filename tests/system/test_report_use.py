"""The lines of use in a report work when they are pasted, for each task type, from any folder of results."""

import html
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.cli import InProcess
from support.runs import DATA, NO_CLASS, FinishedRun

import finetune


@pytest.mark.parametrize("kind", DATA)
def test_the_lines_of_use_work(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], kind: str,
) -> None:  # fmt: skip
    run = finished_run(kind)
    results = tmp_path / "my runs" / "of today"
    shutil.copytree(run.parents[1], results)
    data = Path(DATA[kind][0])
    shutil.copy(run.parents[2] / data, tmp_path / f"new{data.suffix}")
    monkeypatch.chdir(tmp_path)
    page = finetune.open_run(run.name, out=os.path.relpath(results)).report().read_text(encoding="utf-8")
    shown = re.findall(r"<pre[^>]*><code>(.*?)</code>", page.partition("How to use")[2], re.DOTALL)
    command, *codes = map(html.unescape, shown)
    code, _, error = in_process(*shlex.split(command)[1:], data="")
    assert code == 0 and (tmp_path / f"predictions{data.suffix}").is_file(), error
    for text in codes:
        exec(text, {})
    assert len(codes) == 2 - (kind in NO_CLASS) and "error=" not in capsys.readouterr().out
