"""Trained vocabularies: equal bytes in every process, special tokens, Hangul, and what cannot be trained."""

import json
import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from finetune.errors import UserError
from finetune.models.tokenizers.train import ACCENTS, train_tokenizer
from finetune.runs.events import Event, Note

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "é", "ö")]
TRAINING = """
import sys
from pathlib import Path
from finetune.models.tokenizers.train import train_tokenizer
lines = Path(sys.argv[1]).read_text(encoding="utf-8").split("\\n")
train_tokenizer(lines, size=400).backend_tokenizer.save(sys.argv[2])
"""


def lines(count: int = 400, *, seed: int = 0) -> list[str]:
    """Sentences of made-up words, many of them equally frequent, some with control characters between."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 5))) for _ in range(600)]
    joins = [" "] * 30 + [", ", "\t", "\u00a0", "\x1c", "\x0b", "\x85"]
    return ["".join(word + draw.choice(joins) for word in draw.choices(words, k=12)) for _ in range(count)]


def trained(texts: list[str], folder: Path, **settings: object) -> PreTrainedTokenizerBase:
    """A tokenizer, saved and loaded again."""
    train_tokenizer(texts, **{"size": 300} | settings).save_pretrained(folder)  # type: ignore[arg-type]
    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.slow
def test_processes_write_the_same_bytes(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(lines()), encoding="utf-8")
    running = []
    for number in range(4):
        environment = {"RAYON_NUM_THREADS": str(number % 4 + 1), "PYTHONHASHSEED": str(number)}
        command = [sys.executable, "-c", TRAINING, text, tmp_path / str(number)]
        running.append(subprocess.Popen(command, env=os.environ | environment))
        if number % 2:
            assert [process.wait() for process in running[-2:]] == [0, 0]
    found = {(tmp_path / str(number)).read_bytes() for number in range(4)}
    assert len(found) == 1
    whole = train_tokenizer(lines(), size=400).backend_tokenizer.to_str(pretty=True)
    assert json.loads(whole) == json.loads(found.pop())


def test_wordpiece_has_its_ids_in_the_order_of_their_making(tmp_path: Path) -> None:
    vocabulary = trained(lines(), tmp_path).get_vocab()
    order = sorted(vocabulary, key=vocabulary.__getitem__)
    assert order[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    marked = [token for token in order if token.startswith("##") and len(token) == 3]
    letters = [token for token in order if len(token) == 1]
    assert order[5 : 5 + len(marked) + len(letters)] == sorted(marked) + sorted(letters)
    assert set("abdegou") <= set(letters) and "é" not in letters
    assert sorted(vocabulary.values()) == list(range(300))


def test_a_pair_has_the_special_tokens_of_bert(tmp_path: Path) -> None:
    tokenizer = trained(lines(), tmp_path)
    cls, sep = (tokenizer.cls_token, tokenizer.sep_token)
    assert (cls, sep) == ("[CLS]", "[SEP]")
    encoded = tokenizer("ba", "du")
    tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    between = tokens[tokens.index(sep) :]
    assert tokens[0] == cls and tokens[-1] == sep
    assert between[:2].count(sep) == 1
    assert "token_type_ids" in encoded
    assert tokenizer.model_max_length == 512
    assert tokenizer(f"ba {tokenizer.mask_token} du")["input_ids"].count(tokenizer.mask_token_id) == 1
    assert tokenizer.unk_token_id not in tokenizer(lines(seed=1)[:50])["input_ids"]


@pytest.mark.parametrize("lower", [True, False])
def test_hangul_is_whole_in_either_form_of_unicode(lower: bool, tmp_path: Path) -> None:
    texts = ["서울에서 영화를 보았다 Ça va", "영화가 정말 좋았다 서울은 좋다"] * 30
    tokenizer = trained(texts, tmp_path, lower=lower, size=42)
    composed = tokenizer(texts)["input_ids"]
    for form in ("NFC", "NFD", "NFKD"):
        assert tokenizer([unicodedata.normalize(form, text) for text in texts])["input_ids"] == composed
    assert {"서", "영", "다"} <= {token.strip("#▁") for token in tokenizer.get_vocab()}
    assert not [token for token in tokenizer.get_vocab() if unicodedata.normalize("NFC", token) != token]
    cased = tokenizer("va")["input_ids"] != tokenizer("VA")["input_ids"]
    assert cased != lower


@pytest.mark.parametrize(
    ("texts", "settings", "words"),
    [
        (["", " \n"], {}, ["no text"]),
        (["ab ab"], {"size": 7}, ["`size` is 7", "8"]),
        (["abc abc"], {"size": 500}, ["12 tokens", "500", "12"]),
    ],
)
def test_a_vocabulary_that_cannot_be_is_one_error(
    texts: list[str], settings: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(UserError) as found:
        train_tokenizer(texts, **{"size": 300} | settings)  # type: ignore[arg-type]
    assert [word for word in words if word not in str(found.value)] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("हिंदी वाक्य में है", True),
        ("ภาษาไทย มีวรรณยุกต์ น้ำ", True),
        ("これはペンです がぎぐ", True),
        (unicodedata.normalize("NFD", "これはペンです がぎぐ"), True),
        ("Äpfel und Öl, çédille", False),
        ("אָלֶף בֵּית", False),
        ("plain words ❤️ 1️⃣", False),
    ],
    ids=["Hindi", "Thai", "Japanese", "decomposed", "German", "Hebrew", "emoji"],
)
def test_marks_that_are_parts_of_letters_are_kept_with_a_note(text: str, kept: bool) -> None:
    seen: list[Event] = []
    tokenizer = train_tokenizer([text.replace(" ", f" {n} ") for n in range(200)], size=150, least=0, watch=seen.append)
    assert [event.text for event in seen if isinstance(event, Note)] == [ACCENTS] * kept
    known = tokenizer.decode(tokenizer(text.lower(), add_special_tokens=False)["input_ids"])
    assert (unicodedata.normalize("NFC", known) == unicodedata.normalize("NFC", text)) == kept


def test_characters_that_do_not_fit_are_unknown_with_a_note() -> None:
    common, rare = "abcd efgh hgfe dcba " * 400, " ".join(chr(0x4E00 + number) for number in range(60))
    notes: list[str] = []

    def watch(event: Event) -> None:
        notes.extend([event.text] if isinstance(event, Note) else [])

    tokenizer = train_tokenizer([common, rare], size=56, least=30, watch=watch)
    assert "of the text's characters are too rare for 56 tokens" in notes[0]
    assert tokenizer.unk_token_id not in tokenizer("abcd efgh")["input_ids"]
    assert tokenizer.unk_token_id in tokenizer(chr(0x4E00 + 59))["input_ids"]
    with pytest.raises(UserError, match=r"the text's characters and the special tokens alone need \d+"):
        train_tokenizer([rare], size=30)
