"""`finetune predict` for files that are unlike the training data: other columns, plain sentences, no rows."""

import json
from pathlib import Path

import pytest
from support.cli import Finetune, assert_error

WORDS = ("dog", "sun", "moon", "man", "road", "day", "tree", "bird")


@pytest.fixture
def films(tmp_path: Path, tiny_bert: Path, here: Finetune) -> None:
    rows = "".join(f"the cat saw {n} {word},{n}\n" for word in WORDS for n in ("one", "two"))
    (tmp_path / "films.csv").write_text(f"text,label\n{rows}")
    assert here("run", "films.csv", f"model={tiny_bert}", "train.epochs=1").returncode == 0


@pytest.fixture
def names(tmp_path: Path, tiny_bert: Path, here: Finetune) -> None:
    rows = [{"tokens": ["the", n, word], "tags": ["O", "O", "B-X"]} for word in WORDS for n in ("one", "two")]
    (tmp_path / "names.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert here("run", "names.jsonl", f"model={tiny_bert}", "max_length=64", "train.epochs=1").returncode == 0


@pytest.mark.usefixtures("films")
def test_a_file_of_two_texts_for_a_model_of_one_asks_for_one_of_its_columns(here: Finetune, tmp_path: Path) -> None:
    rows = "".join(f"what did the cat see {word},it saw the big {word}\n" for word in WORDS)
    (tmp_path / "chat.csv").write_text(f"asked,reply\n{rows}")
    error = here("predict", "films.csv", "chat.csv").stderr
    assert_error(error, "It has asked, reply.", "The model reads 1 text; name it: text=COLUMN")
    assert here("predict", "films.csv", "chat.csv", "text=reply").returncode == 0


@pytest.mark.usefixtures("films")
def test_a_file_without_rows_is_refused_as_run_does(here: Finetune, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("text,label\n")
    for command in ("predict films.csv empty.csv", "run empty.csv"):
        assert_error(here(*command.split()).stderr, "empty.csv: has no rows below its header")


@pytest.mark.usefixtures("names")
def test_plain_sentences_are_tagged_line_by_line(here: Finetune, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("the old man sat on a tree\nthe dog ran, and the cat saw it\n")
    done = here("predict", "names.jsonl", "plain.txt", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [len(row["prediction"]) for row in found] == [7, 8]


@pytest.mark.usefixtures("names")
def test_no_document_is_written_where_the_file_has_none(here: Finetune, tmp_path: Path) -> None:
    lines = "the\tO\ndog\tB-X\n\na\tO\ncat\tB-X\n\n"
    for name, text in (("without.conll", lines), ("with.conll", f"-DOCSTART-\tO\n\n{lines}")):
        (tmp_path / name).write_text(text)
        done = here("predict", "names.jsonl", name, "-o", "out.jsonl", "text=words", "label=tags")
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert [("document" in row) for row in rows] == [name == "with.conll"] * 2
