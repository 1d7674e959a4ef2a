"""The notebooks of docs/tutorials: executed from the first cell to the last, offline, with a tiny encoder."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from support.paths import ROOT

FOLDER = ROOT / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(file: Path) -> Any:
    return nbformat.read(file, as_version=4)


def code(file: Path) -> list[str]:
    return [cell.source for cell in read(file).cells if cell.cell_type == "code"]


@pytest.mark.nightly
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_a_notebook_runs_offline(file: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = read(file)
    for cell in notebook.cells:
        cell.source = re.sub(r'^MODEL = ".*"$', f"MODEL = {str(tiny_bert)!r}", cell.source, flags=re.MULTILINE)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    assert [output for output in outputs if output.output_type in ("stream", "error")] == []
    for expected in ("tfidf-logistic", "p_holm", "finished: results", "<iframe srcdoc", "majority"):
        assert any(expected in page for page in pages), expected
    assert any("BertForSequenceClassification" in str(output.get("data")) for output in outputs)
    assert (tmp_path / "reviews.html").is_file()


def test_the_korean_notebook_takes_the_same_steps() -> None:
    english, korean = code(FOLDER / "notebook.ipynb"), code(FOLDER / "notebook.ko.ipynb")
    calls = [[re.findall(r"finetune\.\w+|run\.\w+", cell) for cell in cells] for cells in (english, korean)]
    assert calls[0] == calls[1]
