"""`finetune.tokenizer` and its command: what is written, and each wrong input as one line."""

import gzip
import json
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from transformers import AutoModel, AutoTokenizer

import finetune
from finetune.commands.tokenizer import ABOUT
from finetune.data.documents import read_documents, split_documents

DOCUMENTS = [f"the cat sat on mat {n} .\nthe dograt ran and the dograt sat" for n in range(60)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of 60 documents of two lines."""
    file = tmp_path / "corpus.txt"
    file.write_text("\n\n".join(DOCUMENTS) + "\n", encoding="utf-8")
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_vocabulary_is_trained_and_measured(corpus: Path, tmp_path: Path) -> None:
    found = finetune.tokenizer(corpus, path=tmp_path / "new", size=60)
    assert len(AutoTokenizer.from_pretrained(tmp_path / "new")) == 60
    assert found.documents == (30, 30)
    assert found.tokens == 60 and found.unknown <= 0.2
    tokenizer, held_out = AutoTokenizer.from_pretrained(tmp_path / "new"), split_documents(read_documents(corpus))[1]
    tokens = sum(len(tokenizer.tokenize(document.text)) for document in held_out)
    assert found.tokens_per_word == tokens / sum(len(document.text.split()) for document in held_out)
    assert "60 tokens" in repr(found)
    again = contents(tmp_path / "new")
    finetune.tokenizer([corpus], path=tmp_path / "new", size="60")
    assert contents(tmp_path / "new") == again
    with gzip.open(tmp_path / "corpus.txt.gz", "wt", encoding="utf-8") as packed:
        packed.write(corpus.read_text(encoding="utf-8"))
    finetune.tokenizer(tmp_path / "corpus.txt.gz", path=tmp_path / "other", size=60)
    assert contents(tmp_path / "other") == again


def test_the_command_prints_the_figures(corpus: Path, in_process: InProcess, tmp_path: Path) -> None:
    code, out, _ = in_process("tokenizer", str(corpus), "-o", "v", "--size", "50", data="")
    assert code == 0
    assert "30 held-out documents: " in out and "tokens per word" in out
    assert json.loads((tmp_path / "v" / ABOUT).read_text())["size"] == 50


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["EMPTY"], ["EMPTY", "empty"]),
        (["BINARY"], ["BINARY"]),
        (["ONE", "--size", "20"], ["one document"]),
        (["CORPUS", "--size", "9000"], ["words for", "9,000", "Give more text, or `--size`"]),
        (["CORPUS", "--size", "8"], ["`--size` is 8", "characters"]),
        (["CORPUS", "--size", "100", "--kind", "byte-bpe"], ["--kind' was taken out"]),
        (["CORPUS", "--size", "0"], ["0"]),
        (["CORPUS", "--size", "8k"], ["'8k'"]),
        (["CORPUS", "--size", "+2000"], ["+2000"]),
        (["CORPUS", "--extend", "minilm"], ["'--extend' was taken out"]),
        (["CORPUS", "-o", "FULL"], ["FULL", "notes.md"]),
        (["CORPUS", "-o", "CORPUS"], ["is a file"]),
        (["CORPUS", "txt=body"], ["'txt'", "text"]),
        (["nowhere.txt"], ["nowhere.txt"]),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str],
    words: list[str],
    corpus: Path,
    tmp_path: Path,
    in_process: InProcess,
) -> None:
    (tmp_path / "EMPTY").with_suffix(".txt").write_text("")
    (tmp_path / "BINARY.txt").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "ONE.txt").write_text("one line alone")
    (tmp_path / "FULL").mkdir()
    (tmp_path / "FULL" / "notes.md").write_text("mine")
    places = {"CORPUS": "corpus.txt", "EMPTY": "EMPTY.txt", "BINARY": "BINARY.txt", "ONE": "ONE.txt"}
    output = [] if "-o" in arguments else ["-o", "new"]
    given = [places.get(one, one) for one in arguments]
    code, _, err = in_process("tokenizer", *given, *output, data="")
    assert code == 2
    assert_error(err, *words)
    assert not (tmp_path / "new").exists() and not list(tmp_path.glob(".*.tmp"))
    assert (tmp_path / "FULL" / "notes.md").read_text() == "mine"


def test_a_model_trained_with_the_tokenizer_is_not_overwritten(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    finetune.tokenizer(corpus, path=tmp_path / "new", size=60)
    AutoTokenizer.from_pretrained(tmp_path / "new").save_pretrained(tmp_path / "model")
    AutoModel.from_pretrained(tiny_bert).save_pretrained(tmp_path / "model")
    before = contents(tmp_path / "model")
    with pytest.raises(finetune.UserError, match="not a tokenizer of"):
        finetune.tokenizer(corpus, path=tmp_path / "model", size=60)
    assert contents(tmp_path / "model") == before


def test_a_link_is_not_replaced(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(finetune.UserError, match="link: is a symbolic link"):
        finetune.tokenizer(corpus, path=tmp_path / "link", size=60)
