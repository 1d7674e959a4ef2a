"""`finetune tokenizer`: what is written is what was measured, and each wrong input is one line."""

import gzip
import json
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from transformers import AutoModel, AutoTokenizer

import finetune
from finetune.commands.tokenizer import ABOUT
from finetune.data.documents import read_documents, split_documents


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of 60 documents of two lines."""
    documents = [f"the cat sat on mat {n} .\nthe dograt ran and the dograt sat" for n in range(60)]
    file = tmp_path / "corpus.txt"
    file.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_vocabulary_is_trained_and_measured(corpus: Path, tmp_path: Path) -> None:
    found = finetune.tokenizer(corpus, path=tmp_path / "new", size=60)
    tokenizer, held_out = AutoTokenizer.from_pretrained(tmp_path / "new"), split_documents(read_documents(corpus))[1]
    tokens = sum(len(tokenizer.tokenize(document.text)) for document in held_out)
    per_word = tokens / sum(len(document.text.split()) for document in held_out)
    assert (len(tokenizer), found.tokens, found.documents, found.tokens_per_word) == (60, 60, (30, 30), per_word)
    assert found.unknown <= 0.2 and json.loads((tmp_path / "new" / ABOUT).read_text())["size"] == 60
    first = contents(tmp_path / "new")
    finetune.tokenizer([corpus], path=tmp_path / "new", size="60")
    with gzip.open(tmp_path / "corpus.txt.gz", "wt", encoding="utf-8") as packed:
        packed.write(corpus.read_text(encoding="utf-8"))
    finetune.tokenizer(tmp_path / "corpus.txt.gz", path=tmp_path / "other", size=60)
    assert contents(tmp_path / "new") == contents(tmp_path / "other") == first


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["binary.txt"], ["binary.txt"]),
        (["one.txt", "--size", "20"], ["one document"]),
        (["corpus.txt", "--size", "8"], ["`--size` is 8"]),
        (["corpus.txt", "--size", "8k"], ["'8k'"]),
        (["corpus.txt", "-o", "full"], ["full", "notes.md"]),
        (["corpus.txt", "-o", "corpus.txt"], ["is a file"]),
        (["corpus.txt", "-o", "link"], ["link", "symbolic link"]),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], words: list[str], corpus: Path, tmp_path: Path, in_process: InProcess
) -> None:
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "one.txt").write_text("one line alone")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.md").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    output = [] if "-o" in arguments else ["-o", "new"]
    code, _, err = in_process("tokenizer", *arguments, *output, data="")
    assert code == 2
    assert_error(err, *words)
    assert not (tmp_path / "new").exists() and not (tmp_path / "nowhere").exists() and not list(tmp_path.glob(".*.tmp"))
    assert (tmp_path / "full" / "notes.md").read_text() == "mine"


def test_a_model_trained_with_the_tokenizer_is_not_overwritten(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    finetune.tokenizer(corpus, path=tmp_path / "new", size=60)
    AutoTokenizer.from_pretrained(tmp_path / "new").save_pretrained(tmp_path / "model")
    AutoModel.from_pretrained(tiny_bert).save_pretrained(tmp_path / "model")
    before = contents(tmp_path / "model")
    with pytest.raises(finetune.UserError, match="not a tokenizer of"):
        finetune.tokenizer(corpus, path=tmp_path / "model", size=60)
    assert contents(tmp_path / "model") == before
