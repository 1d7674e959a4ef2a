"""SentencePiece vocabularies: the pieces are SentencePiece's own, and what is not read alike is refused."""

import json
import sys
import unicodedata
from itertools import groupby
from pathlib import Path

import pytest
import sentencepiece
from support.published import KOBERTS, TEXTS, pieces_of, settings, train_pieces
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from finetune.errors import UserError
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.load import load_fast_tokenizer, load_tokenizer, read_tokenizer

NAMES = {"deberta": "spm.model", "albert": "spiece.model", "kobert": "tokenizer_78b3253a26.model"}
TYPES = {"deberta": "deberta-v2", "albert": "big_bird", "kobert": "bert"}
PROBES = (
    *TEXTS,
    "서울은  대한민국의\t수도이다.",
    "ＡＢＣ １９８９년, 전각\u3000공백",
    " 앞과 뒤 \n",
    "9,411,260명",
    "이모지 🙂 그리고 한자 漢字",
)


def folder_with(where: Path, like: str, kind: str = "unigram") -> Path:
    """A model's folder whose vocabulary is SentencePiece's alone."""
    where.mkdir(exist_ok=True)
    train_pieces(where / NAMES.get(like, "sentencepiece.bpe.model"), like, kind=kind)
    config = {"model_type": TYPES.get(like, like), "type_vocab_size": 2, "vocab_size": 1_000}
    (where / "config.json").write_text(json.dumps(config))
    return where


def known_pieces(pieces: list[str], known: set[str], unknown: str = "") -> list[str]:
    """With one `?` for any number of neighbours that are unknown."""
    return [one for one, _ in groupby(piece if piece in known and piece != unknown else "?" for piece in pieces)]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("like", [*NAMES, "xlm-roberta"])
def test_a_text_has_the_pieces_of_sentencepiece(like: str, kind: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, like, kind)
    if (like, kind) == ("xlm-roberta", "bpe"):
        with pytest.raises(UserError, match=r"transformers reads the BPE of sentencepiece\.bpe\.model as Unigram"):
            read_tokenizer(folder)
        return
    (file,) = folder.glob("*.model")
    processor, tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(file)), read_tokenizer(folder)
    known = set(pieces_of(file))
    for text in PROBES:
        theirs = known_pieces(processor.encode(text, out_type=str), known)
        assert known_pieces(tokenizer.tokenize(text), known, tokenizer.unk_token) == theirs
    if like != "xlm-roberta":
        assert tokenizer.convert_ids_to_tokens(list(range(len(known)))) == pieces_of(file)
        assert_framed(tokenizer)


def assert_framed(tokenizer: PreTrainedTokenizerBase) -> None:
    """Asserts that a pair is between [CLS] and [SEP], with segments."""
    pair = tokenizer("서울", "한강")
    tokens = tokenizer.convert_ids_to_tokens(pair["input_ids"])
    first = tokens.index("[SEP]") + 1
    assert (tokens[0], tokens[-1], tokens.count("[SEP]")) == ("[CLS]", "[SEP]", 2)
    assert pair["token_type_ids"] == [0] * first + [1] * (len(tokens) - first)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("like", NAMES)
def test_saved_it_is_the_same_in_transformers(like: str, kind: str, tmp_path: Path) -> None:
    folder, saved = folder_with(tmp_path / "published", like, kind), tmp_path / "saved"
    tokenizer = read_tokenizer(folder)
    tokenizer.save_pretrained(saved)
    (saved / "config.json").write_text((folder / "config.json").read_text())
    expected = tokenizer(list(PROBES), list(reversed(PROBES)))
    for again in (AutoTokenizer.from_pretrained(saved), read_tokenizer(saved), load_fast_tokenizer(saved)):
        assert again(list(PROBES), list(reversed(PROBES)))["input_ids"] == expected["input_ids"]
    assert AutoTokenizer.from_pretrained(saved)("가", "나").keys() == tokenizer("가", "나").keys()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_the_ids_are_those_of_vocab_txt(kind: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "kobert", kind)
    plain = read_tokenizer(folder)
    (file,) = folder.glob("*.model")
    listed = [*KOBERTS, *sorted(set(pieces_of(file)) - set(KOBERTS))]
    (folder / "vocab.txt").write_text("\n".join([*listed, ""]), encoding="utf-8")
    tokenizer = read_tokenizer(folder)
    assert tokenizer.convert_ids_to_tokens(list(range(len(listed)))) == listed
    for text in PROBES:
        assert tokenizer.tokenize(text) == plain.tokenize(text)
    (folder / "vocab.txt").write_text("\n".join([*KOBERTS, *"金木水火土日月年上下"]))
    with pytest.raises(UserError, match="most of its tokens are not in the SentencePiece vocabulary"):
        read_tokenizer(folder)


def test_letters_of_hangul_are_syllables(tmp_path: Path) -> None:
    """As some systems write them; without accents too, which are parts of letters there."""
    for like in NAMES:
        tokenizer = read_tokenizer(folder_with(tmp_path / like, like))
        apart = unicodedata.normalize("NFD", TEXTS[0])
        assert len(apart) > len(TEXTS[0])
        assert tokenizer(apart)["input_ids"] == tokenizer(TEXTS[0])["input_ids"]


def test_the_settings_decide(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "deberta")
    assert read_tokenizer(folder).tokenize("Seoul") != read_tokenizer(folder).tokenize("seoul")
    settings(folder, do_lower_case=True, split_by_punct=True, model_max_length=64)
    tokenizer = read_tokenizer(folder)
    assert tokenizer.tokenize("SEOUL") == tokenizer.tokenize("seoul")
    assert tokenizer.tokenize("a,b") == ["▁a", "▁", ",", "▁", "b"]
    assert tokenizer.model_max_length == 64


@pytest.mark.parametrize(("like", "kind"), [("deberta", "DebertaV2Tokenizer"), ("albert", "BigBirdTokenizer")])
def test_the_table_of_characters_in_tokenizer_json_is_kept(like: str, kind: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, like)
    made = read_tokenizer(folder)
    made.backend_tokenizer.save(str(folder / "tokenizer.json"))
    settings(folder, tokenizer_class=kind, do_lower_case=False, unk_token=made.unk_token, pad_token=made.pad_token)
    again = read_tokenizer(folder)
    assert again.tokenize("ＡＢＣ") == made.tokenize("ABC") and "Ａ" not in "".join(again.tokenize("ＡＢＣ"))
    assert again("가", "나")["input_ids"] == made("가", "나")["input_ids"]
    assert Tokenizer.from_file(str(folder / "tokenizer.json")).encode("ＡＢＣ").ids == again("ＡＢＣ")["input_ids"]


@pytest.mark.parametrize("package", ["sentencepiece", "google.protobuf"])
def test_a_missing_package_is_named(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for like in ("deberta", "xlm-roberta"):
        folder = folder_with(tmp_path / like, like)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(
                UserError, match=rf"\({package.removeprefix('google.')}\).*bert-finetune\[sentencepiece\]"
            ):
                read_tokenizer(folder)


def test_what_is_no_vocabulary_is_one_line(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "deberta")
    (folder / "other.model").write_bytes(b"x")
    with pytest.raises(UserError, match=r"several vocabularies \(other\.model, spm\.model\)"):
        read_tokenizer(folder)
    (folder / "spm.model").unlink()
    with pytest.raises(UserError, match="the tokenizer cannot be loaded"):
        read_tokenizer(folder)


def test_a_vocabulary_that_transformers_leaves_empty_is_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "xlm-roberta")
    (folder / "config.json").write_text('{"model_type": "bert", "vocab_size": 1000}')
    with pytest.raises(UserError, match=r"the tokenizer cannot be loaded \(transformers reads the Unigram"):
        read_tokenizer(folder)


def test_a_new_encoder_takes_it_as_its_vocabulary(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "deberta")
    (folder / "config.json").unlink()  # of the vocabulary alone
    found = resolve("new:tiny", tokenizer=str(folder))
    assert load_tokenizer(found.folder)(TEXTS[0]) == read_tokenizer(folder)(TEXTS[0])
