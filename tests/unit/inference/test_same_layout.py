"""Predictions are written in the layout of their file, with all that it holds, and in its scheme of tags."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.predicted_files import predict
from support.runs import FinishedRun, trained_run

from finetune.commands.features.rows_to_embed import rows_of_file
from finetune.inference.predict_plan import default_output
from finetune.inference.predictor import Predictor, load_predictor
from finetune.metrics.entities import to_iob2
from finetune.task_types.columns import Layout
from finetune.task_types.tagging.schemes import in_scheme, scheme_of
from finetune.task_types.trained_form import form_for
from finetune.task_types.types import named_type

WRITTEN = {
    "IOB2": ["B-PER I-PER O B-LOC B-LOC", "B-LOC O B-PER I-PER I-PER"],
    "IOB1": ["I-PER I-PER O I-LOC B-LOC", "I-LOC O I-PER I-PER I-PER"],
    "IOBES": ["B-PER E-PER O S-LOC S-LOC", "S-LOC O B-PER I-PER E-PER"],
    "BILOU": ["B-PER L-PER O U-LOC U-LOC", "U-LOC O B-PER I-PER L-PER"],
    "BMES": ["B-PER E-PER O S-LOC S-LOC", "S-LOC O B-PER M-PER E-PER"],
    "BMEW": ["B_PER E_PER O W_LOC W_LOC", "W_LOC O B_PER M_PER E_PER"],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_tags_come_back_in_their_scheme(name: str) -> None:
    layout = Layout(shape="tagging", text=("words",), label=("tags",))
    layout = Layout(shape="tagging", text=("words",), file={"tags": scheme_of(layout, WRITTEN[name])})
    for line, plain in zip(WRITTEN[name], WRITTEN["IOB2"], strict=True):
        assert in_scheme(plain.split(), layout) == line.split()
        assert to_iob2(layout.tags(line)) == plain.split()


@pytest.mark.parametrize(("seen", "letters"), [("B-X E-X O", "BIES"), ("O S-X", "BIES"), ("B-X L-X", "BILU")])
def test_letters_that_no_row_has_are_those_of_the_scheme(seen: str, letters: str) -> None:
    layout = Layout(shape="tagging", text=("words",), label=("tags",))
    assert scheme_of(layout, [seen])["letters"] == letters


@pytest.mark.parametrize(
    ("form", "outside", "lines"),
    [
        ("suffix", "O", ["PER-B PER-E O LOC-S", "O PER-B PER-I PER-E"]),
        ("bare", "O", ["PER PER O LOC", "O PER PER PER"]),
        ("untyped", "-", ["B I - B", "- B I I"]),
    ],
)
def test_tags_of_another_form_come_back(form: Any, outside: str, lines: Sequence[str]) -> None:
    layout = Layout(shape="tagging", text=("words",), label=("tags",), tag_form=form, outside=outside)
    layout = Layout(
        shape="tagging", text=("words",), tag_form=form, outside=outside, file={"tags": scheme_of(layout, lines)}
    )
    for line in lines:
        assert in_scheme(to_iob2(layout.tags(line)), layout) == line.split()


@pytest.mark.parametrize("form", ["suffix", "bare"])
def test_tags_of_another_form_than_in_training_are_read_and_written_in_theirs(form: Any) -> None:
    kind, trained = named_type("tagging"), Layout(shape="tagging", text=("words",), label=("tags",), tag_form=form)
    layout = kind.with_spelling(trained, {"tags": ["B-PER I-PER O B-LOC"]})
    assert layout.tags("B-PER I-PER O B-LOC") == ["B-PER", "I-PER", "O", "B-LOC"]
    assert in_scheme(["B-LOC", "O"], layout) == ["B-LOC", "O"]
    assert kind.with_spelling(trained, {"tags": ["O O", None]}).tag_form == form


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
    own, other = (predict(tagger, tmp_path / f"{n}.bmes", tmp_path / f"{n}.out.bmes") for n in ("own", "other"))
    assert own.scores == other.scores != {}
    tags = {line.rpartition("\t")[2] for line in (tmp_path / "other.out.bmes").read_text().splitlines() if "\t" in line}
    assert tags <= {"O", "LOC_B", "LOC_I", "LOC_M", "LOC_E", "LOC_S"}


@pytest.mark.parametrize("suffix", [".bmes", ".iob2", ".txt", ".conll"])
@pytest.mark.parametrize("tagged", [True, False])
def test_lines_of_words_get_a_column_and_keep_all_else(
    tagger: Predictor, tmp_path: Path, suffix: str, tagged: bool
) -> None:
    text = f"-DOCSTART-\n\n{SENTENCE}\r\n\n{SENTENCE}5\t。\tPU\tO"
    if not tagged:
        text = text.replace("\tO", "").replace("\tB-LOC", "").replace("\tE-LOC", "")
    path = tmp_path / f"new{suffix}"
    path.write_bytes(text.encode())
    output = default_output(path, form_for(path, tagger.layout, {}))
    assert str(output) == f"new.predicted{suffix}"
    found = predict(tagger, path, tmp_path / output)
    assert (found.rows, found.failed) == (3, 0)
    assert bool(found.scores) == tagged
    before, after = text.split("\n"), (tmp_path / output).read_bytes().decode().split("\n")
    for old, new in zip(before, after, strict=True):
        if "\t" in old:
            assert new.rpartition("\t")[0] == old
            assert new.rpartition("\t")[2] in ("O", "B-LOC", "M-LOC", "E-LOC", "S-LOC")
        else:
            assert new == old


def test_a_sentence_that_cannot_be_read_keeps_its_lines(tagger: Predictor, tmp_path: Path) -> None:
    text = f"{SENTENCE}1\t我\n2\t在\tVV\tO\n\n{SENTENCE}"
    (tmp_path / "new.bmes").write_text(text)
    found = predict(tagger, tmp_path / "new.bmes", tmp_path / "out.bmes")
    assert found.failed == 1
    assert any("has no column for errors; the first row" in note for note in found.notes)
    lines = (tmp_path / "out.bmes").read_text().split("\n")
    assert [line.startswith(old) for line, old in zip(lines, text.split("\n"), strict=True)] == [True] * len(lines)
    assert lines[6] == "1\t我\tO"


def test_a_table_of_words_stays_one(tagger: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    words = [f"Sentence: {number},{sign},{tag}" for number, sign in enumerate(SIGNS[:20], start=1)
             for sign, tag in ((sign, "O"), ("北", "B-LOC"), ("京", "E-LOC"))]  # fmt: skip
    path.write_text("\n".join(['Sentence #,words,"tags"', *words]))
    predict(tagger, path, tmp_path / "out.csv", text="words", label="tags")
    after = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in after] == path.read_text().splitlines()
    assert after[0].endswith(",prediction")


def test_labelled_lines_keep_their_line(tmp_path: Path, tiny_bert: Path) -> None:
    rows = [f"{label} the {noun} {verb}" for noun in ("cat", "dog", "sun", "man") for verb in ("sat", "ran", "saw")
            for label in ("DESC:manner", "HUM:ind")]  # fmt: skip
    (tmp_path / "train.label").write_text("\n".join(rows))
    model = load_predictor(trained_run(tmp_path / "results", tmp_path / "train.label", tiny_bert))
    for name, some in (("new.label", rows[:3]), ("bare.label", ["the cat sat", "", "the dog ran"])):
        (tmp_path / name).write_text("".join(f"{row}\n" for row in some))
        output = default_output(tmp_path / name, form_for(tmp_path / name, model.layout, {}))
        assert output.suffix == ".label" or name == "bare.label"
        predict(model, tmp_path / name, tmp_path / output)
    after = (tmp_path / "new.predicted.label").read_text().splitlines()
    assert [line.partition("\t")[0] for line in after] == rows[:3]
    assert {line.partition("\t")[2] for line in after} <= {"DESC:manner", "HUM:ind"}
    assert (tmp_path / "bare.predicted.label").read_text().startswith("text\tprediction\tp(")


def test_a_table_under_an_unknown_ending_keeps_its_delimiter(reviewer: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "new.data"
    path.write_text("id|review\n01|the cat sat\n02|the dog, sat\n")
    output = default_output(path, form_for(path, reviewer.layout, {}))
    assert str(output) == "new.predicted.data"
    predict(reviewer, path, tmp_path / output)
    lines = (tmp_path / output).read_text().splitlines()
    assert lines[0].startswith("id|review|prediction|p(")
    assert lines[2].startswith("02|the dog, sat|bad|")


def test_quotes_that_are_part_of_a_text_are_written_as_they_are(reviewer: Predictor, tmp_path: Path) -> None:
    rows = ["review\tn", 'the "cat" sat\t01', '"the dog sat\t2', 'the cat" sat\t3']
    (tmp_path / "new.tsv").write_text("\n".join(rows))
    predict(reviewer, tmp_path / "new.tsv", tmp_path / "out.tsv")
    after = (tmp_path / "out.tsv").read_text().splitlines()
    assert [line.rsplit("\t", 3)[0] for line in after] == rows


SQUAD = {
    "version": "v2.0",
    "data": [
        {"title": "T", "paragraphs": [{"context": "the dog sat", "qas": [{"id": "a", "question": "who sat?"},
         {"id": "b", "question": "who ran?", "is_impossible": True, "plausible_answers": []}], "extra": 1}]}
    ],
}  # fmt: skip


@pytest.mark.parametrize("answered", [True, False])
def test_squad_stays_squad(finished_run: FinishedRun, tmp_path: Path, answered: bool) -> None:
    given = json.loads(json.dumps(SQUAD))
    questions = given["data"][0]["paragraphs"][0]["qas"]
    if answered:
        for question, answers in zip(questions, ([{"text": "the dog", "answer_start": 0}], []), strict=True):
            question["answers"] = answers
    (tmp_path / "new.json").write_text(json.dumps(given))
    label = {"label": "answers"} if answered else {}
    found = predict(load_predictor(finished_run("span")), tmp_path / "new.json", tmp_path / "out.json", **label)
    assert (found.rows, found.failed, bool(found.scores)) == (2, 0, answered)
    after = json.loads((tmp_path / "out.json").read_text())
    for question, before in zip(after["data"][0]["paragraphs"][0]["qas"], questions, strict=True):
        assert isinstance(question["prediction"], str)
        assert before.items() <= question.items()
    assert after["data"][0]["paragraphs"][0]["extra"] == 1
    assert after["version"] == "v2.0"


def test_objects_keep_their_own_fields(reviewer: Predictor, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {" review ": "the cat sat", "spans": [{"start": 0, "labels": ["x"]}], "n": 1.0, "when": None},
        {" review ": "the dog sat", "choice": {"choices": ["good"]}, "prediction": "mine"},
    ]
    (tmp_path / "new.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "new.json").write_text(json.dumps({"version": 2, "data": rows}))
    predict(reviewer, tmp_path / "new.jsonl", tmp_path / "out.jsonl")
    predict(reviewer, tmp_path / "new.json", tmp_path / "out.json")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["version"] == 2
    for found in (lines, document["data"]):
        assert [row["predicted prediction"] for row in found] == ["good", "bad"]
        for before, after in zip(rows, found, strict=True):
            assert before.items() <= after.items()


def test_lines_of_text_are_embedded_by_a_model_of_characters(tagger: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("我 在 北京\n在 北京\n")
    found = rows_of_file(tmp_path / "new.txt", {"model": "minilm"}, trained=tagger.layout, length=32)
    assert [row.words for row in found.rows] == [("我", "在", "北", "京"), ("在", "北", "京")]


def test_the_command_names_its_output_like_the_file(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    (tmp_path / "train.iob2").write_text(several(30).replace("E-LOC", "I-LOC"))
    assert here("run", "train.iob2", f"model={tiny_bert}", "train.epochs=1", "max_length=64").returncode == 0
    done = here("predict", "train.iob2", "train.iob2")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "train.predicted.iob2").is_file()
