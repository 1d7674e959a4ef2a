"""`finetune predict temperature=dev`: calibrated probabilities."""

import json
from pathlib import Path

import pytest
from support.cli import InProcess
from support.reports import _read, read
from support.runs import FinishedRun
from support.toys import cat_task

from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.inference.temperature import with_dev_temperature
from finetune.metrics.calibration import fit_temperature, with_temperature
from finetune.task_types.saved_predictions import labelled_table


def test_the_command_and_temperature_of_predict(
    in_process: InProcess, rte: Path, copied_run: FinishedRun, tmp_path: Path
) -> None:
    folder = copied_run("rte")
    code, out, _ = in_process("report", "rte", "-o", "page.html", data=rte)
    assert code == 0
    assert out.startswith("page.html: ")
    assert "which has the least log loss on" in read((tmp_path / "page.html").read_text()).text
    (tmp_path / "new.csv").write_text("sentence1,sentence2\nthe cat sat,a bird flew\nthe dog ran,a bird sat\n")
    for name, more in (("plain", []), ("dev", ["temperature=dev"])):
        assert in_process("predict", "rte", "new.csv", *more, "-o", f"{name}.jsonl", data=rte)[0] == 0
    plain, dev = (
        [json.loads(line) for line in (tmp_path / f"{n}.jsonl").read_text().splitlines()] for n in ("plain", "dev")
    )
    names = [key for key in plain[0] if key.startswith("p(")]
    table = labelled_table(None, _read(folder), names=[name[2:-1] for name in names])
    assert table is not None and table.distribution is not None
    temperature = fit_temperature(*table.distribution)
    for before, after in zip(plain, dev, strict=True):
        assert after["prediction"] == before["prediction"]
        wanted = with_temperature([before[name] for name in names], temperature)
        assert [after[name] for name in names] == pytest.approx(wanted, abs=1e-5)
    code, _, err = in_process("predict", "rte", "new.csv", "temperature=2", data=rte)
    assert (code, "dev" in err) == (2, True)


@pytest.mark.parametrize("kind", ["regression", "multilabel", "span", "tagging"])
def test_a_temperature_is_for_one_choice_out_of_several(kind: str, finished_run: FinishedRun, tmp_path: Path) -> None:
    predictor = Predictor(task=cat_task(), engine=None, tokenizer=None, max_length=8, fingerprint="")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="temperature does not apply"):
        with_dev_temperature(predictor, str(finished_run(kind)), "dev", out=tmp_path)
    with pytest.raises(UserError, match="any"):
        with_dev_temperature(predictor, "any", "dev", out=tmp_path)
