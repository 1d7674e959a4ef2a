"""What a user meets around a pre-training run: vocabulary, second runs, predictions, pages, a changed text."""

import json
import re
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.corpora import TINY_RUN, sentence
from support.reports import read
from support.training import StopsAfter

from finetune.data.source import source_of
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.runs.lookup import find_run
from finetune.runs.process import Interrupted
from finetune.runs.record_files import all_records
from finetune.training.run import run
from finetune.training.run_options import RunOptions
from finetune.training.targets import load_target, split_arguments


def test_a_new_encoder_trains_its_vocabulary_once(corpus: Path, cache: Path, in_process: InProcess) -> None:
    code, _, err = in_process("run", "corpus.txt", *TINY_RUN, data="")
    assert code == 0, err
    assert "train corpus.txt: 240 documents" in err and "document 1: " in err
    (record,) = all_records(corpus.parent / "results")
    assert record.task == "corpus.txt" and not record.recipe["tokenizer"]
    assert any("vocabulary was trained on the text" in note and "fewer than 8,192" in note for note in record.notes)
    (folder,) = (cache / "vocabularies").iterdir()
    time = (folder / "tokenizer.json").stat().st_mtime_ns
    assert "already" in "".join(in_process("run", "corpus.txt", *TINY_RUN, data="")[1:])
    in_process("run", "corpus.txt", *TINY_RUN, "seed=1", data="")
    assert [path.stat().st_mtime_ns for path in (cache / "vocabularies").rglob("tokenizer.json")] == [time]
    (folder / "tokenizer.json").rename(folder / "old.json")
    (folder / "facts.json").unlink()
    in_process("run", "corpus.txt", *TINY_RUN, "--force", data="")
    assert {one.id for one in all_records(corpus.parent / "results") if one.recipe.get("seed", 42) == 42} == {record.id}


@pytest.mark.slow
@pytest.mark.parametrize("written", ["", "{", None])  # None: the training ended, and the file was damaged since
def test_a_vocabulary_whose_training_was_killed_or_that_is_damaged_is_trained_again(
    written: str | None, corpus: Path, cache: Path, in_process: InProcess
) -> None:
    assert in_process("run", "corpus.txt", *TINY_RUN, data="")[0] == 0
    (folder,) = (cache / "vocabularies").iterdir()
    before = {name: (folder / name).read_bytes() for name in ("facts.json", "tokenizer.json")}
    if written is not None:
        (folder / "facts.json").write_text(written)
    (folder / "tokenizer.json").write_text("{")
    code, _, err = in_process("run", "corpus.txt", *TINY_RUN, "seed=1", data="")
    assert code == 0, err
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_text_of_unknown_words_has_a_record(corpus: Path, in_process: InProcess) -> None:
    """Its perplexity is beyond what a record holds, were it not bounded."""
    in_process("tokenizer", "corpus.txt", "-o", "vocabulary", "--size", "100", data="")
    (corpus.parent / "ko.txt").write_text("".join(f"{chr(0xAC00 + n)} {chr(0xB000 + n)}\n" for n in range(300)))
    code, _, err = in_process("run", "ko.txt", *TINY_RUN, "tokenizer=vocabulary", data="")
    assert code == 0, err
    (record,) = all_records(corpus.parent / "results")
    found = find_run(record.id, corpus.parent / "results")
    assert found is not None and record.scores["dev"]["perplexity"] < 1e15


def test_what_its_training_tells_of_a_vocabulary_is_in_every_record(corpus: Path, in_process: InProcess) -> None:
    korean = "".join(f"오늘 날씨가 {n}도라서 {sentence(n)} 좋아요\n" for n in range(300))
    (corpus.parent / "ko.txt").write_text(korean)
    for settings in ((), ("seed=1",), ("tokenizer=300",)):
        assert in_process("run", "ko.txt", *TINY_RUN, *settings, data="")[0] == 0
    for record in all_records(corpus.parent / "results"):
        assert any("Hangul is kept whole" in note for note in record.notes)
        assert not any("does not fit" in note for note in record.notes)  # a small vocabulary is the user's own choice


@pytest.mark.slow
def test_a_vocabulary_is_of_the_documents_that_are_trained_on(corpus: Path, cache: Path, in_process: InProcess) -> None:
    for settings in ((), ("train_share=0.5",), ("held_out.share=0.2",)):
        assert in_process("run", "corpus.txt", *TINY_RUN, *settings, data="")[0] == 0
    assert len(list((cache / "vocabularies").glob("*/tokenizer.json"))) == 3


def test_objectives_that_see_different_words_do_not_compare(corpus: Path, in_process: InProcess) -> None:
    for objective in ("mlm", "ltr"):
        assert in_process("run", "corpus.txt", *TINY_RUN, f"objective={objective}", data="")[0] == 0
    a, b = (record.id for record in all_records(corpus.parent / "results"))
    code, out, err = in_process("compare", a, b, data="")
    assert code == 0 and "predict from different context" in " ".join(out.split()), err


def test_what_follows_a_run(corpus: Path, in_process: InProcess) -> None:
    """Other text is scored and predicted; what makes no sense of text is one line."""
    folder = corpus.parent
    assert in_process("run", "corpus.txt", *TINY_RUN, "mask=words", data="")[0] == 0
    (record,) = all_records(folder / "results")
    code, _, err = in_process("run", "corpus.txt", f"model={record.id}", "frozen=true", *TINY_RUN[1:], data="")
    assert code == 2
    assert_error(err, "frozen")
    (folder / "other.txt").write_text("".join(f"{sentence(n)}\n" for n in range(300, 320)))
    code, out, err = in_process("evaluate", record.id, "other.txt", data="")
    assert code == 0 and "perplexity" in out, err
    code, _, err = in_process("predict", record.id, "other.txt", "-o", "found.jsonl", data="")
    assert code == 0, err
    lines = [json.loads(line) for line in (folder / "found.jsonl").read_text().splitlines()]
    assert len(lines) == 20 and all(line["perplexity"] > 1 and line["prediction"] for line in lines)
    assert in_process("features", record.id, "other.txt", "-o", "found.npz", data="")[0] == 0
    code, _, err = in_process("explain", record.id, "the river", data="")
    assert code == 2
    assert_error(err, "another task type")
    code, out, err = in_process("show", record.id, "--predictions", "3", data="")
    assert code == 0 and "do not use it" not in out and "marked x" not in out, err


def test_documents_are_predicted_as_they_are_trained_on(corpus: Path, in_process: InProcess) -> None:
    """The first line is no header, a document may have several lines, and lines are not taken for rows of words."""
    assert in_process("run", "corpus.txt", *TINY_RUN, data="")[0] == 0
    (record,) = all_records(corpus.parent / "results")
    blocks = ["river\nhill\nbirds", "the old, river", "winter\nleaves\nsmall"]
    texts = {"new.txt": blocks, "lines.txt": ["river", "hill", "river"], "words.txt": [blocks[0], blocks[2]] * 4}
    for name, expected in texts.items():
        joined = "\n\n" if name != "lines.txt" else "\n"
        (corpus.parent / name).write_text(joined.join(expected) + "\n")
        code, _, err = in_process("predict", record.id, name, "-o", "found.jsonl", "--quiet", data="")
        assert code == 0, err
        found = [json.loads(line) for line in (corpus.parent / "found.jsonl").read_text().splitlines()]
        assert [one["text"] for one in found] == expected
    (corpus.parent / "cells.csv").write_text("text\nriver hill\n")
    assert in_process("predict", record.id, "cells.csv", "-o", "found.jsonl", "--quiet", data="")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "setting"), [("ltr", "seed=42"), ("mlm", "layers=sum-all")])
def test_a_run_in_our_own_format_is_pre_trained_further(
    objective: str, setting: str, corpus: Path, in_process: InProcess
) -> None:
    """The format of a fine-tuned left-to-right encoder and of a layer mix, whose head is for another task."""
    results = corpus.parent / "results"
    rows = "".join(f"{sentence(n)},{n % 2}\n" for n in range(60))
    (corpus.parent / "a.csv").write_text(f"text,label\n{rows}")
    assert in_process("run", "corpus.txt", *TINY_RUN, f"objective={objective}", data="")[0] == 0
    assert in_process("run", "a.csv", "model=corpus.txt", setting, "train.epochs=1", data="")[0] == 0
    (tuned,) = (record for record in all_records(results) if record.task == "a.csv")
    assert (results / "a.csv" / tuned.id / "model" / OWN_WEIGHTS).is_file()
    further = ("run", "corpus.txt", f"model={tuned.id}", *TINY_RUN[1:], f"objective={objective}")
    code, out, err = in_process(*further, data="")
    assert code == 0 and "the head is new, since" in " ".join((out + err).split()), err
    record = next(one for one in all_records(results) if tuned.id in one.recipe["model"])
    assert any(name.endswith("dense.weight") for name in record.new_weights)
    assert not any("embeddings" in name or "layer." in name for name in record.new_weights)


def test_pairs_need_another_document_in_the_batch(corpus: Path, in_process: InProcess) -> None:
    for command in ("run", "check"):
        code, _, err = in_process(command, "corpus.txt", *TINY_RUN, "objective=mlm-nsp", "train.batch_size=1", data="")
        assert code == 2
        assert_error(err, "train.batch_size is 1", "mlm-nsp")
    settings = ("objective=mlm-nsp", "train.batch_size=2", "train.updates=1")
    assert in_process("run", "corpus.txt", *TINY_RUN[::2], *settings, data="")[0] == 0


def test_a_ready_space_of_epochs_is_not_for_updates(corpus: Path, in_process: InProcess) -> None:
    code, _, err = in_process("search", "corpus.txt", *TINY_RUN, data="")
    assert code == 2
    assert_error(err, "fine-tuning", "in updates", "learning_rate")


@pytest.mark.slow
def test_the_page_of_a_run_has_its_curve_and_its_documents(corpus: Path, in_process: InProcess) -> None:
    assert in_process("run", "corpus.txt", *TINY_RUN[::2], "train.updates=20", "objective=mlm-nsp", data="")[0] == 0
    (record,) = all_records(corpus.parent / "results")
    assert in_process("report", record.id, data="")[0] == 0
    page = (corpus.parent / "report.html").read_text()
    read(page)
    (curve,) = (chart for chart in re.findall("<svg.*?</svg>", page, re.DOTALL) if "dev perplexity" in chart)
    assert set(re.findall("<title>([0-9]+): ", curve)) == {str(update) for update in range(2, 21, 2)}
    assert "nan" not in "".join(re.findall(' d="[^"]*"', page))
    assert "nats per word, highest first" in page
    assert "finetune predict" not in page


def test_another_precision_is_no_change_of_the_text(
    corpus: Path, in_process: InProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`auto` is bf16 on another device: the run of there is another, and starts."""
    monkeypatch.chdir(tmp_path)
    settings = (*TINY_RUN[::2], "train.updates=10")
    planned = load_target("corpus.txt", split_arguments(list(settings))[1])
    precisions = iter(["fp32", "bf16"])
    monkeypatch.setattr("finetune.training.prepare.resolve_precision", lambda *_: next(precisions))
    with pytest.raises(Interrupted):
        run(planned, RunOptions(source=source_of(None), out=Path("results")), watch=StopsAfter(2))
    code, _, err = in_process("run", "corpus.txt", *settings, data="")
    assert code == 0, err
    assert len(list((corpus.parent / "results" / "corpus.txt").iterdir())) == 2
