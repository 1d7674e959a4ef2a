"""`finetune card`: writes the card, replaces none that was changed by hand, and tells what it cannot describe."""

import shutil
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.exports import export_of
from support.runs import FinishedRun

import finetune
from finetune.data.checksums import ABOUT
from finetune.errors import UserError
from finetune.inference.card.known_exports import known_export


@pytest.fixture
def run(copied_run: FinishedRun) -> Path:
    return copied_run("sentence")


def test_it_writes_the_card_of_an_old_run(run: Path, in_process: InProcess) -> None:
    (run / "model" / ABOUT).unlink()
    code, out, error = in_process("card", run.name, data="")
    assert code == 0 and ABOUT in out, error
    assert f"`{run.name}`" in (run / "model" / ABOUT).read_text()
    assert in_process("card", run.name, data="")[0] == 0  # its own card is replaced


def test_a_card_that_was_changed_by_hand_is_kept(run: Path, in_process: InProcess) -> None:
    file = run / "model" / ABOUT
    file.write_text(file.read_text().replace("## Limits", "## My words"))
    code, _, error = in_process("card", run.name, data="")
    assert code == 2
    assert_error(error, ABOUT, "`--force`")
    assert "My words" in file.read_text()
    assert in_process("card", run.name, "--force", data="")[0] == 0
    assert "My words" not in file.read_text()


def test_the_check_of_an_export_is_in_the_card(run: Path, in_process: InProcess, tmp_path: Path) -> None:
    export_of(run, tmp_path / "small")
    card = finetune.card(run, exports=[tmp_path / "small"]).read_text()
    (line,) = [line for line in card.splitlines() if line.startswith("| `small` |")]
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[2] == "onnx int8 dynamic, 7 bits" and cells[4:8] == ["8", "7", "0.012", "macro f1 100.0, 98.0"]
    (run / "model" / "config.json").write_text("{}")
    export_of(run, tmp_path / "others")
    with pytest.raises(UserError, match="not of the model"):
        known_export(tmp_path / "small", run / "model", run.name)
    code, _, error = in_process("card", run.name, "--export", "nothing", data="")
    assert code == 2
    assert_error(error, "nothing", "finetune export")


def test_what_cannot_be_described_is_one_line(run: Path, in_process: InProcess) -> None:
    shutil.rmtree(run / "model")
    code, _, error = in_process("card", run.name, data="")
    assert code == 2
    assert_error(error, run.name, "model is missing")
    code, _, error = in_process("card", "nothing", data="")
    assert code == 2
    assert_error(error, "nothing")


def test_a_card_is_not_written_through_a_link(run: Path, in_process: InProcess, tmp_path: Path) -> None:
    file = run / "model" / ABOUT
    file.unlink()
    (tmp_path / "mine").write_text("mine")
    file.symlink_to(tmp_path / "mine")
    code, _, error = in_process("card", run.name, "--force", data="")
    assert code == 2
    assert_error(error, "symbolic link")
    assert (tmp_path / "mine").read_text() == "mine"
