"""Predictions of tags in the columns of their file, and of SQuAD by id."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.predicted_files import predict
from support.runs import FinishedRun, trained_run

from finetune.data.reading import read_table
from finetune.inference.predict_plan import default_output
from finetune.inference.predictor import Predictor, load_predictor
from finetune.task_types.columns import Layout
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import named_type


@pytest.mark.parametrize("form", ["suffix", "bare"])
def test_tags_of_another_form_than_in_training_are_read(form: Any, tmp_path: Path) -> None:
    trained = Layout(shape="tagging", text=("words",), label=("tags",), tag_form=form)
    (tmp_path / "a.csv").write_text("words,tags\na b c d,B-PER I-PER O B-LOC\n")
    layout = named_type("tagging").as_written(trained, read_table(tmp_path / "a.csv"))
    assert layout.tags("B-PER I-PER O B-LOC") == ["B-PER", "I-PER", "O", "B-LOC"]


SIGNS = "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出"
SENTENCE = "# id = 1\n1\t我\tPN\tO\n2\t在\tVV\tO\n3\t北\tNR\tB-LOC\n4\t京\tNR\tE-LOC\n\n"


def several(count: int) -> str:
    return "".join(SENTENCE.replace("我", sign) for sign in SIGNS[:count])


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Predictor:
    folder = tmp_path_factory.mktemp("tags")
    (folder / "train.bmes").write_text(several(30))
    return load_predictor(trained_run(folder / "results", folder / "train.bmes", tiny_bert))


def test_tags_of_another_form_have_the_same_scores(tagger: Predictor, tmp_path: Path) -> None:
    (tmp_path / "own.bmes").write_text(several(3))
    (tmp_path / "other.bmes").write_text(several(3).replace("B-LOC", "LOC_B").replace("E-LOC", "LOC_E"))
    own, other = (predict(tagger, tmp_path / f"{n}.bmes", tmp_path / f"{n}.out.conll") for n in ("own", "other"))
    assert own.scores == other.scores != {}
    tags = {
        line.rpartition("\t")[2] for line in (tmp_path / "other.out.conll").read_text().splitlines() if "\t" in line
    }
    assert tags <= {"O", "B-LOC", "I-LOC"}


@pytest.mark.parametrize("suffix", [".bmes", ".iob2", ".txt", ".conll"])
@pytest.mark.parametrize("tagged", [True, False])
def test_lines_of_words_are_written_as_columns_with_the_tags_last(
    tagger: Predictor, tmp_path: Path, suffix: str, tagged: bool
) -> None:
    text = f"-DOCSTART-\n\n{SENTENCE}\r\n\n{SENTENCE}5\t。\tPU\tO"
    if not tagged:
        text = text.replace("\tO", "").replace("\tB-LOC", "").replace("\tE-LOC", "")
    path = tmp_path / f"new{suffix}"
    path.write_bytes(text.encode())
    output = default_output(path, form_for(path, tagger.layout, {}))
    assert str(output) == "new.predicted.conll"
    found = predict(tagger, path, tmp_path / output)
    assert (found.rows, found.failed) == (3, 0)
    assert bool(found.scores) == tagged
    before = [line for line in text.split("\n") if "\t" in line]
    after = [line for line in (tmp_path / output).read_text().split("\n") if line]
    assert [line.rpartition("\t")[0] for line in after] == before
    assert {line.rpartition("\t")[2] for line in after} <= {"O", "B-LOC", "I-LOC"}


def test_a_sentence_that_cannot_be_read_is_noted(tagger: Predictor, tmp_path: Path) -> None:
    text = f"{SENTENCE}1\t我\n2\t在\tVV\tO\n\n{SENTENCE}"
    (tmp_path / "new.bmes").write_text(text)
    found = predict(tagger, tmp_path / "new.bmes", tmp_path / "out.conll")
    assert found.failed == 1
    assert any("has no column for errors; the first row" in note for note in found.notes)
    assert len([line for line in (tmp_path / "out.conll").read_text().splitlines() if line]) == 8


def test_columns_of_words_with_names_are_written_in_their_order(tagger: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    words = [f"Sentence: {number},{sign},{tag}" for number, sign in enumerate(SIGNS[:20], start=1)
             for sign, tag in ((sign, "O"), ("北", "B-LOC"), ("京", "E-LOC"))]  # fmt: skip
    path.write_text("\n".join(['Sentence #,Word,"Tag"', *words]))
    predict(tagger, path, tmp_path / "out.conll", text="Word", label="Tag")
    after = [line for line in (tmp_path / "out.conll").read_text().splitlines() if line]
    assert [line.rpartition("\t")[0] for line in after] == [word.replace(",", "\t") for word in words]


SQUAD = {
    "version": "v2.0",
    "data": [
        {"title": "T", "paragraphs": [{"context": "the dog sat", "qas": [{"id": "a", "question": "who sat?"},
         {"id": "b", "question": "who ran?", "is_impossible": True, "plausible_answers": []}], "extra": 1}]}
    ],
}  # fmt: skip


def test_answers_of_squad_are_written_by_id(finished_run: FinishedRun, tmp_path: Path) -> None:
    (tmp_path / "new.json").write_text(json.dumps(SQUAD))
    model = load_predictor(finished_run("span"))
    found = predict(model, tmp_path / "new.json", tmp_path / "out.json")
    assert (found.rows, found.failed) == (2, 0)
    after = json.loads((tmp_path / "out.json").read_text())
    assert set(after) == {"a", "b"} and all(isinstance(answer, str) for answer in after.values())
    predict(model, tmp_path / "new.json", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(line["question"], line["prediction"]) for line in lines] == [
        ("who sat?", after["a"]), ("who ran?", after["b"]),
    ]  # fmt: skip


def test_the_command_names_its_output_like_the_file(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    (tmp_path / "train.iob2").write_text(several(30).replace("E-LOC", "I-LOC"))
    assert here("run", "train.iob2", f"model={tiny_bert}", "train.epochs=1", "max_length=64").returncode == 0
    done = here("predict", "train.iob2", "train.iob2")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "train.predicted.conll").is_file()
