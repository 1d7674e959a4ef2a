"""Tokenizers: with and without transformers, of SentencePiece's files, and trained on a text."""

import json
import os
import random
import subprocess
import sys
import unicodedata
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from support.published import TEXTS, pieces_of, train_pieces
from transformers import AutoTokenizer

from finetune.errors import UserError
from finetune.models.tokenizers.encoding import character_offsets, template_of
from finetune.models.tokenizers.load import FastTokenizer, load_fast_tokenizer, load_tokenizer
from finetune.models.tokenizers.load import read_tokenizer as read
from finetune.models.tokenizers.train import ACCENTS, train_tokenizer
from finetune.runs.events import Event, Note

PLAIN = ["the cat sat", "", "The CAT's 한국어 Ａ 12", "the [MASK] [SEP] cat " * 9, "dog"]
PAIRS = ["a dog ran", "the", "", "cat " * 30, "the dog sat on the cat"]
NUMBERS = ("cls_token_id", "sep_token_id", "pad_token_id", "mask_token_id", "unk_token_id", "model_max_length")
FAST = ("bert", "roberta", "distilbert", "electra")  # which need no transformers


def test_without_transformers_texts_are_encoded_as_with_it(tiny_vocabulary: Path, tmp_path: Path) -> None:
    """As a run saves it: texts and pairs, whole and cut, with what codecs ask for."""
    load_tokenizer(tiny_vocabulary).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text((tiny_vocabulary / "config.json").read_text())
    ours, theirs = load_fast_tokenizer(tmp_path), load_tokenizer(tmp_path)
    kind = json.loads((tmp_path / "config.json").read_text())["model_type"]
    assert isinstance(ours, FastTokenizer) or kind not in FAST
    assert [getattr(ours, name) for name in NUMBERS] == [getattr(theirs, name) for name in NUMBERS]
    assert (ours.get_vocab(), ours.get_added_vocab()) == (theirs.get_vocab(), theirs.get_added_vocab())
    assert ("token_type_ids" in ours.model_input_names) == ("token_type_ids" in theirs.model_input_names)
    for pair in (False, True):
        assert template_of(ours, pair=pair) == template_of(theirs, pair=pair)
    every = {"return_special_tokens_mask": True, "return_offsets_mapping": True, "verbose": False}
    for pairs in (None, PAIRS):
        for options in (every, every | {"add_special_tokens": False}, {"truncation": True, "max_length": 12}):
            one, other = ours(PLAIN, pairs, **options), theirs(PLAIN, pairs, **options)
            assert all([list(each) for each in one[name]] == [list(each) for each in other[name]] for name in one)
            assert ("token_type_ids" in one) == ("token_type_ids" in other)
            cut = [bool(encoding.overflowing) for encoding in one.encodings]
            assert cut == [bool(encoding.overflowing) for encoding in other.encodings]


@pytest.mark.parametrize(
    "text", ["Jan Kos lives in San Jose, California.", " two  spaces", "서울 3동, 한국어!", "naïve café"]
)
def test_every_letter_is_of_a_token_with_offsets_that_begin_late_too(text: str, tiny_vocabulary: Path) -> None:
    encoded = load_tokenizer(tiny_vocabulary)(text, add_special_tokens=False, return_offsets_mapping=True)
    offsets = encoded["offset_mapping"]
    for given in (offsets, [(min(start + 1, end), end) for start, end in offsets]):
        found = character_offsets(text, given)
        covered = {place for start, end in found.tolist() for place in range(start, end)}
        assert {place for place, character in enumerate(text) if character.isalnum()} <= covered
        assert (np.diff(found, axis=0) >= 0).all()


NAMES = {"deberta": "spm.model", "albert": "spiece.model", "kobert": "tokenizer_78b3253a26.model"}
TYPES = {"deberta": "deberta-v2", "albert": "big_bird", "kobert": "bert"}
PROBES = [
    *TEXTS,
    "서울은  대한민국의\t수도이다.",
    "ＡＢＣ １９８９년, 전각\u3000공백",
    " 앞과 뒤 \n",
    "9,411,260명",
    "이모지 🙂 그리고 한자 漢字",
]


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
def test_a_text_has_the_pieces_of_sentencepiece_here_and_once_saved(like: str, kind: str, tmp_path: Path) -> None:
    folder, saved = folder_with(tmp_path / "published", like, kind), tmp_path / "saved"
    if (like, kind) == ("xlm-roberta", "bpe"):
        with pytest.raises(UserError, match=r"transformers reads the BPE of sentencepiece\.bpe\.model as Unigram"):
            read(folder)
        return
    (file,) = folder.glob("*.model")
    processor, tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(file)), read(folder)
    known = set(pieces_of(file))
    for text in PROBES:
        theirs = known_pieces(processor.encode(text, out_type=str), known)
        assert known_pieces(tokenizer.tokenize(text), known, tokenizer.unk_token) == theirs
    if like == "xlm-roberta":
        return
    assert tokenizer.convert_ids_to_tokens(list(range(len(known)))) == pieces_of(file)
    pair = tokenizer("서울", "한강")
    tokens = tokenizer.convert_ids_to_tokens(pair["input_ids"])
    first = tokens.index("[SEP]") + 1
    assert (tokens[0], tokens[-1], tokens.count("[SEP]")) == ("[CLS]", "[SEP]", 2)
    assert pair["token_type_ids"] == [0] * first + [1] * (len(tokens) - first)
    apart = unicodedata.normalize("NFD", TEXTS[0])  # letters of Hangul, as some systems write them
    assert tokenizer(apart)["input_ids"] == tokenizer(TEXTS[0])["input_ids"]
    tokenizer.save_pretrained(saved)
    (saved / "config.json").write_text((folder / "config.json").read_text())
    expected = tokenizer(PROBES, PROBES[::-1])["input_ids"]
    for again in (AutoTokenizer.from_pretrained(saved), read(saved), load_fast_tokenizer(saved)):
        assert again(PROBES, PROBES[::-1])["input_ids"] == expected


SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "é", "ö")]


def lines(count: int = 400) -> list[str]:
    """Sentences of made-up words, many of them equally frequent, some with control characters between."""
    draw = random.Random(0)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 5))) for _ in range(600)]
    joins = [" "] * 30 + [", ", "\t", "\u00a0", "\x1c", "\x0b", "\x85"]
    return ["".join(word + draw.choice(joins) for word in draw.choices(words, k=12)) for _ in range(count)]


@pytest.mark.slow
def test_processes_train_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(lines()), encoding="utf-8")
    for number in "123":
        environment = os.environ | {"RAYON_NUM_THREADS": number, "PYTHONHASHSEED": number}
        command = [sys.executable, "-m", "finetune", "tokenizer", "text.txt", "--size", "400", "-o", number]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert len({(tmp_path / number / "tokenizer.json").read_bytes() for number in "123"}) == 1


def test_a_trained_vocabulary_is_berts_in_the_order_of_its_making(tmp_path: Path) -> None:
    train_tokenizer(lines(), size=300).save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    order = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    marked = sorted(token for token in order if token.startswith("##") and len(token) == 3)
    letters = sorted(token for token in order if len(token) == 1)
    head = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *marked, *letters]
    assert len(order) == 300 and order[: len(head)] == head
    assert set("abdegou") <= set(letters) and "é" not in letters
    encoded = tokenizer("ba", "du [MASK]")
    tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    assert (tokens[0], tokens[-1], tokens[-2], tokens.count("[SEP]")) == ("[CLS]", "[SEP]", "[MASK]", 2)
    assert "token_type_ids" in encoded
    assert tokenizer.unk_token_id not in tokenizer(lines(50))["input_ids"]


@pytest.mark.parametrize("lower", [True, False])
def test_hangul_is_whole_in_either_form_of_unicode(lower: bool) -> None:
    texts = ["서울에서 영화를 보았다 Ça va", "영화가 정말 좋았다 서울은 좋다"] * 30
    tokenizer = train_tokenizer(texts, lower=lower, size=42)
    composed = tokenizer(texts)["input_ids"]
    for form in ("NFC", "NFD", "NFKD"):
        assert tokenizer([unicodedata.normalize(form, text) for text in texts])["input_ids"] == composed
    assert {"서", "영", "다"} <= {token.strip("#▁") for token in tokenizer.get_vocab()}
    assert (tokenizer("va")["input_ids"] == tokenizer("VA")["input_ids"]) == lower


@pytest.mark.parametrize(
    ("texts", "settings", "said"),
    [
        (["ab ab"], {"size": 7}, "`size` is 7.*8"),
        (["abc abc"], {"size": 500}, "12 tokens.*500|500.*12 tokens"),
    ],
)
def test_a_vocabulary_that_cannot_be_is_one_error(texts: list[str], settings: dict[str, int], said: str) -> None:
    with pytest.raises(UserError, match=said):
        train_tokenizer(texts, **{"size": 300} | settings)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("हिंदी वाक्य में है", True),
        (unicodedata.normalize("NFD", "これはペンです がぎぐ"), True),
        ("Äpfel und Öl, çédille", False),
        ("אָלֶף בֵּית", False),
    ],
)
def test_marks_that_are_parts_of_letters_are_kept_with_a_note(text: str, kept: bool) -> None:
    seen: list[Event] = []
    tokenizer = train_tokenizer([text.replace(" ", f" {n} ") for n in range(200)], size=150, least=0, watch=seen.append)
    assert [event.text for event in seen if isinstance(event, Note)] == [ACCENTS] * kept
    known = tokenizer.decode(tokenizer(text.lower(), add_special_tokens=False)["input_ids"])
    assert (unicodedata.normalize("NFC", known) == unicodedata.normalize("NFC", text)) == kept
