"""The card of a model: the calls in it work, its head is what huggingface_hub reads, and it has no text of the data."""

import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from support.cli import InProcess
from support.runs import DATA, NO_CLASS, FinishedRun

from finetune.data.checksums import ABOUT, CHECKSUMS, verify_folder
from finetune.inference.card.card import card_text, describe_run, is_edited, save_first_card
from finetune.inference.card.described import DescribedRun
from finetune.inference.card.limits import about_baseline, about_classes, about_lengths
from finetune.inference.card.markdown import code, escaped
from finetune.inference.card.metadata import base_model
from finetune.models.fingerprint import fingerprint_of
from finetune.runs.events import Event, Note
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.record_files import load_record, write_record


def blocks_of(card: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", card, re.DOTALL)


@pytest.mark.parametrize("kind", DATA)
def test_the_calls_of_a_card_work(
    finished_run: FinishedRun, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    run = finished_run(kind)
    shutil.copytree(run.parents[1], tmp_path / "results")
    data = Path(DATA[kind][0])
    shutil.copy(run.parents[2] / data, tmp_path / f"new{data.suffix}")
    card = (run / "model" / ABOUT).read_text(encoding="utf-8")
    (command,) = blocks_of(card, "bash")
    code, _, error = in_process(*shlex.split(command)[1:], data="")
    assert code == 0 and (tmp_path / f"predictions{data.suffix}").is_file(), error
    monkeypatch.chdir(tmp_path)
    python = blocks_of(card, "python")
    assert len(python) == 2 - (kind in NO_CLASS)
    for text in python:
        exec(text, {})
    assert "error=" not in capsys.readouterr().out


@pytest.mark.parametrize("kind", [*DATA, "rte"])
def test_the_head_of_a_card_has_every_score_of_the_record(finished_run: FinishedRun, kind: str) -> None:
    run = finished_run(kind)
    record = load_record(run / "record.json")
    head = ModelCard.load(run / "model" / ABOUT).data
    found = {(one.dataset_split, one.metric_type): one.metric_value for one in head.eval_results}
    given = {(split, name): score for split, some in record.scores.items() for name, score in some.items()}
    plain = {key: round(score, 6) for key, score in given.items() if "/" not in key[1] and score == score}
    assert {key: found[key] for key in plain} == plain
    (interval,) = {str(one.metric_args["95 % interval"]) for one in head.eval_results if one.metric_args}
    assert interval == str([round(end, 6) for end in record.margins["dev"].interval or ()])
    loads = kind not in NO_CLASS
    assert bool(head.pipeline_tag) == loads and (head.library_name == "transformers") == loads
    assert head.base_model is None  # a folder of this machine is no encoder of the Hub


@pytest.mark.parametrize("kind", DATA)
def test_a_card_has_no_text_of_the_data_unless_asked(finished_run: FinishedRun, kind: str) -> None:
    folder = RunFolder(finished_run(kind))
    lines = read_lines(folder, "dev")
    texts = {cell for line in lines for cell in line.values() if isinstance(cell, str) and len(cell.split()) > 2}
    texts |= {" ".join(line["words"]) for line in lines if "words" in line}
    card = (folder.model / ABOUT).read_text(encoding="utf-8")
    assert texts and not [text for text in texts if text in card]
    asked = card_text(describe_run(folder, with_examples=True))
    assert [text for text in texts if text in asked]


def test_a_card_is_the_same_again_and_of_a_folder_that_is_intact(finished_run: FinishedRun) -> None:
    folder = RunFolder(finished_run("sentence"))
    first = (folder.model / ABOUT).read_text(encoding="utf-8")
    record = load_record(folder.record_file).model_copy(update={"finished": "2030-01-01", "seconds": {"total": 9.0}})
    again = replace(describe_run(folder), record=record)
    assert card_text(again) == first
    assert ABOUT not in json.loads((folder.model / CHECKSUMS).read_text())
    verify_folder(folder.model, remedy="")
    assert not is_edited(folder.model / ABOUT)


def test_a_card_changes_neither_checksums_nor_fingerprint(copied_run: FinishedRun) -> None:
    folder = RunFolder(copied_run("sentence"))
    before = fingerprint_of(folder.model)
    (folder.model / ABOUT).write_text("mine\n")
    assert fingerprint_of(folder.model) == before
    verify_folder(folder.model, remedy="")
    folder.require_model()


def test_seeds_are_in_the_card_of_the_command_alone(copied_run: FinishedRun) -> None:
    folder = RunFolder(copied_run("sentence"))
    other = folder.path.parent / "0123456789"
    shutil.copytree(folder.path, other)
    record = load_record(folder.record_file)
    changed = {"id": other.name, "recipe": {**record.recipe, "seed": 7}}
    write_record(other / "record.json", record.model_copy(update=changed))
    found = describe_run(folder)
    assert [one.id for one in found.seeds] == [other.name]
    assert "Over 2 seeds:" in card_text(found)
    assert "seeds:" not in (folder.model / ABOUT).read_text()


def test_no_model_is_lost_because_its_card_cannot_be_made(
    copied_run: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = RunFolder(copied_run("sentence")), list[Event]()

    def broken(run: DescribedRun) -> str:
        raise RuntimeError("a plugin's view")

    monkeypatch.setattr("finetune.inference.card.card.card_text", broken)
    save_first_card(folder, load_record(folder.record_file), home=folder.path, watch=told.append)
    (note,) = told
    assert isinstance(note, Note) and "a plugin's view" in note.text


def test_limits_are_those_of_the_numbers(finished_run: FinishedRun) -> None:
    found = describe_run(RunFolder(finished_run("tagging")))
    assert found.view is not None
    (never, few) = about_classes(found.view.classes(), "dev")
    assert "PET (10 labels)" in never and "fewer than 20" in few
    (baseline,) = about_baseline([found.record])
    assert "worse than" in baseline or "not clearly better than" in baseline
    cut = found.record.model_copy(update={"truncated": {"dev": 0.25}})
    longest, truncated = about_lengths(cut, found.view, "dev")
    assert str(int(found.view.lengths().max())) in longest and "25 %" in truncated
    assert "25 %" in card_text(replace(found, record=cut))


def test_labels_are_no_markup() -> None:
    assert code("a|b\nc") == "`a\\|b c`"
    assert code("a`b") == "`` a`b ``"
    assert escaped("<b>*x*") == r"\<b\>\*x\*"


def test_an_encoder_of_the_hub_is_the_base(finished_run: FinishedRun) -> None:
    record = load_record(finished_run("sentence") / "record.json")
    assert base_model(record) is None
    assert base_model(record.model_copy(update={"model": "a/b", "weights": "0" * 40})) == "a/b"
    assert base_model(record.model_copy(update={"model": "minilm"})) == "sentence-transformers/all-MiniLM-L6-v2"
