"""The card of a model: the calls in it work, its head is what huggingface_hub reads, and it has no text of the data."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from support.cli import InProcess
from support.runs import DATA, NO_CLASS, FinishedRun

from finetune.analysis.card import base_model, code, escaped, model_card
from finetune.data.checksums import ABOUT
from finetune.runs.folder import RunFolder
from finetune.runs.record_files import load_record


def blocks_of(card: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", card, re.DOTALL)


@pytest.mark.parametrize("kind", ["sentence", "tagging", "span", "intent"])
def test_the_calls_of_a_card_work(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    run = finished_run(kind)
    shutil.copytree(run.parents[1], tmp_path / "results")
    data = Path(DATA[kind][0])
    shutil.copy(run.parents[2] / data, tmp_path / f"new{data.suffix}")
    card = model_card(RunFolder(run))
    (command,) = blocks_of(card, "bash")
    code, _, error = in_process(*shlex.split(command)[1:], data="")
    assert code == 0 and (tmp_path / f"predictions{data.suffix}").is_file(), error
    monkeypatch.chdir(tmp_path)
    python = blocks_of(card, "python")
    assert len(python) == 2 - (kind in NO_CLASS)
    for text in python:
        exec(text, {})
    assert "error=" not in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["regression", "tagging", "overlapping", "rte"])
def test_the_head_of_a_card_has_every_score_of_the_record(finished_run: FinishedRun, kind: str, tmp_path: Path) -> None:
    run = finished_run(kind)
    record = load_record(run / "record.json")
    (tmp_path / ABOUT).write_text(model_card(RunFolder(run)))
    head = ModelCard.load(tmp_path / ABOUT).data
    found = {(one.dataset_split, one.metric_type): one.metric_value for one in head.eval_results}
    given = {(split, name): score for split, some in record.scores.items() for name, score in some.items()}
    plain = {key: round(score, 6) for key, score in given.items() if "/" not in key[1] and score == score}
    assert {key: found[key] for key in plain} == plain
    (interval,) = {str(one.metric_args["95 % interval"]) for one in head.eval_results if one.metric_args}
    assert interval == str([round(end, 6) for end in record.margins["dev"].interval or ()])
    loads = kind not in NO_CLASS
    assert bool(head.pipeline_tag) == loads and (head.library_name == "transformers") == loads
    assert head.base_model is None  # a folder of this machine is no encoder of the Hub


def test_labels_are_no_markup_and_an_encoder_of_the_hub_is_the_base(finished_run: FinishedRun) -> None:
    assert (code("a|b\nc"), code("a`b"), escaped("<b>*x*")) == ("`a\\|b c`", "`` a`b ``", r"\<b\>\*x\*")
    record = load_record(finished_run("sentence") / "record.json")
    assert base_model(record) is None
    assert base_model(record.model_copy(update={"model": "a/b", "weights": "0" * 40})) == "a/b"
    assert base_model(record.model_copy(update={"model": "minilm"})) == "sentence-transformers/all-MiniLM-L6-v2"
