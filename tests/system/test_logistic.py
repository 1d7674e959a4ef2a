"""The logistic solver through the command line."""

from pathlib import Path
from typing import Any

from support.cli import assert_error


def test_the_command_runs_it(in_process: Any, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "frozen=true", "train.solver=logistic", "--quiet"]
    code, out, err = in_process("run", *settings, "layers=[0]", data=rte)
    assert (code, err) == (0, "")
    assert "dev accuracy 50.0" in out  # the first token's embedding is the same for every row
    code, out, _ = in_process("run", *settings, data=rte)
    assert code == 0
    assert "dev accuracy 100.0" in out
    assert in_process("report", "rte", "-o", "page.html", data=rte)[0] == 0
    (run,) = [file.parents[1].name for file in tmp_path.glob("results/rte/*/model/model.safetensors")]
    code, out, err = in_process("evaluate", run, "rte", data=rte)
    assert code == 0, err
    assert "accuracy 100.0" in out
    code, _, err = in_process("run", *settings, "--seeds", "2", data=rte)
    assert code == 2
    assert_error(err, "train.solver = 'logistic'", "--seeds")
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", "train.solver=logistic", data=rte)
    assert code == 2
    assert_error(err, "train.solver = 'logistic'", "frozen=true")
