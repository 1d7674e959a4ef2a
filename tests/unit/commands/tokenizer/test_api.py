"""`finetune.tokenizer` and its command: what is written, and each wrong input as one line."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
import torch
from support.cli import InProcess, assert_error
from transformers import AutoModel, AutoTokenizer, BertConfig, BertForMaskedLM

import finetune
from finetune.commands.tokenizer.api import ABOUT
from finetune.models.pretrained import resolve

DOCUMENTS = [f"the cat sat on mat {n} .\nthe dograt ran and the dograt sat" for n in range(60)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of 60 documents of two lines."""
    file = tmp_path / "corpus.txt"
    file.write_text("\n\n".join(DOCUMENTS) + "\n", encoding="utf-8")
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_vocabulary_is_trained_and_compared(corpus: Path, tmp_path: Path, minilm: Path) -> None:
    found = finetune.tokenizer(corpus, path=tmp_path / "new", size=60)
    assert len(AutoTokenizer.from_pretrained(tmp_path / "new")) == 60
    assert found.documents == (30, 30)
    frame = found.frame.set_index("vocabulary")
    assert list(frame.index) == ["trained", "minilm"]
    assert list(frame["tokens"]) == [60, 30_522]
    assert (frame["tokens per word"] >= 1).all() and (frame["unknown tokens"] <= 0.2).all()
    assert "60 tokens" in repr(found) and "<table>" in found._repr_html_()
    again = contents(tmp_path / "new")
    finetune.tokenizer([corpus], path=tmp_path / "new", size="60")
    assert contents(tmp_path / "new") == again
    with gzip.open(tmp_path / "corpus.txt.gz", "wt", encoding="utf-8") as packed:
        packed.write(corpus.read_text(encoding="utf-8"))
    finetune.tokenizer(tmp_path / "corpus.txt.gz", path=tmp_path / "other", size=60)
    assert contents(tmp_path / "other") == again


def test_figures_are_those_of_the_held_out_text(tmp_path: Path) -> None:
    from finetune.commands.tokenizer.splits import splits_of

    tokenizer = AutoTokenizer.from_pretrained(resolve("minilm").folder)
    texts = ["The cat sat.", "unbelievability ☃"]
    found = splits_of(tokenizer, texts)
    tokens = [token for text in texts for token in tokenizer.tokenize(text)]
    assert (found.words, found.tokens, found.unknown) == (6, len(tokens), tokens.count("[UNK]"))
    assert found.unknown == 1 and found.in_many == 1
    assert found.bytes == sum(len(text.encode()) for text in texts)


def test_the_command_prints_the_table(corpus: Path, in_process: InProcess, tmp_path: Path) -> None:
    code, out, _ = in_process("tokenizer", str(corpus), "-o", "v", "--size", "50", "--kind", "bpe", data="")
    assert code == 0
    assert "30 held-out documents" in out and "minilm" in out
    assert json.loads((tmp_path / "v" / ABOUT).read_text())["kind"] == "bpe"


def test_added_words_are_whole_and_others_split_as_before(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    before = AutoTokenizer.from_pretrained(tiny_bert)
    old = AutoModel.from_pretrained(tiny_bert)
    found = finetune.tokenizer(corpus, path=tmp_path / "new", size="+1", extend=str(tiny_bert))
    assert list(found.added) == ["dograt"]
    after, new = AutoTokenizer.from_pretrained(tmp_path / "new"), AutoModel.from_pretrained(tmp_path / "new")
    assert len(before.tokenize("dograt")) > 1
    assert after.convert_tokens_to_ids(after.tokenize("dograt")) == [len(before)]
    others = "the cat sat on adograt dogra, rat!"
    assert after(others)["input_ids"] == before(others)["input_ids"]
    rows, pieces = old.embeddings.word_embeddings.weight, before("dograt", add_special_tokens=False)["input_ids"]
    made = new.embeddings.word_embeddings.weight
    assert made.shape[0] == len(rows) + 1 == new.config.vocab_size
    assert torch.equal(made[: len(rows)], rows)
    torch.testing.assert_close(made[-1], rows[pieces].mean(0))
    assert resolve(str(tmp_path / "new")).fingerprint != resolve(str(tiny_bert)).fingerprint
    again = contents(tmp_path / "new")
    finetune.tokenizer(corpus, path=tmp_path / "new", size="+1", extend=str(tiny_bert))
    assert contents(tmp_path / "new") == again


def test_an_extended_model_keeps_its_head_of_masked_words(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "masked"
    shutil.copytree(tiny_bert, folder)
    old = BertForMaskedLM(BertConfig.from_pretrained(tiny_bert)).eval()
    torch.nn.init.normal_(old.cls.predictions.bias)
    old.save_pretrained(folder)
    finetune.tokenizer(corpus, path=tmp_path / "new", size="+1", extend=str(folder))
    new, info = BertForMaskedLM.from_pretrained(tmp_path / "new", output_loading_info=True)
    assert not info["missing_keys"] and not info["mismatched_keys"]
    ids = AutoTokenizer.from_pretrained(folder)("the cat sat", return_tensors="pt")
    with torch.no_grad():
        logits, before = new.eval()(**ids).logits, old(**ids).logits
    torch.testing.assert_close(logits[..., :-1], before)
    pieces = AutoTokenizer.from_pretrained(folder)("dograt", add_special_tokens=False)["input_ids"]
    torch.testing.assert_close(logits[..., -1], before[..., pieces].mean(-1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["EMPTY"], ["EMPTY", "empty"]),
        (["BINARY"], ["BINARY"]),
        (["ONE", "--size", "20"], ["one document"]),
        (["CORPUS", "--size", "9000"], ["words for", "9,000", "Give more text, or `--size`"]),
        (["CORPUS", "--size", "8"], ["`--size` is 8", "characters"]),
        (["CORPUS", "--size", "100", "--kind", "byte-bpe"], ["bytes", "261"]),
        (["CORPUS", "--size", "0"], ["0"]),
        (["CORPUS", "--size", "8k"], ["'8k'"]),
        (["CORPUS", "--size", "+2000"], ["+2000", "--extend"]),
        (["CORPUS", "--extend", "TINY"], ["--size", "+2000"]),
        (["CORPUS", "--extend", "TINY", "--size", "2000"], ["'2000'", "+2000"]),
        (["CORPUS", "--extend", "TINY", "--size", "+2000"], ["+2,000", "`--size` +2 "]),
        (["CORPUS", "--extend", "TINY", "--size", "+1", "--kind", "bpe"], ["--kind"]),
        (["CORPUS", "--extend", "TINY", "--size", "+1", "--cased"], ["--cased"]),
        (["CORPUS", "--extend", "ROBERTA", "--size", "+1"], ["BPE", "WordPiece"]),
        (["CORPUS", "--extend", "./nowhere", "--size", "+1"], ["nowhere"]),
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
    tiny_bert: Path,
    tiny_roberta: Path,
    tmp_path: Path,
    in_process: InProcess,
) -> None:
    (tmp_path / "EMPTY").with_suffix(".txt").write_text("")
    (tmp_path / "BINARY.txt").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "ONE.txt").write_text("one line alone")
    (tmp_path / "FULL").mkdir()
    (tmp_path / "FULL" / "notes.md").write_text("mine")
    places = {"CORPUS": "corpus.txt", "EMPTY": "EMPTY.txt", "BINARY": "BINARY.txt", "ONE": "ONE.txt"}
    places |= {"TINY": str(tiny_bert), "ROBERTA": str(tiny_roberta)}
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


def test_a_link_and_the_model_that_is_extended_are_not_replaced(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(finetune.UserError, match="link: is a symbolic link"):
        finetune.tokenizer(corpus, path=tmp_path / "link", size=60)
    more = tmp_path / "more"
    finetune.tokenizer(corpus, path=more, extend=str(tiny_bert), size="+1")
    before = contents(more)
    for same in (more, tmp_path / "." / "more", tmp_path / "nowhere" / ".." / "more"):
        with pytest.raises(finetune.UserError, match="would overwrite the input"):
            finetune.tokenizer(corpus, path=same, extend=str(more), size="+1")
    assert contents(more) == before


def test_a_kind_that_there_is_not_is_answered_with_those_that_there_are(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(finetune.UserError, match="byte-bpe"):
        finetune.tokenizer(corpus, path=tmp_path / "new", kind="unigram")  # type: ignore[arg-type]
