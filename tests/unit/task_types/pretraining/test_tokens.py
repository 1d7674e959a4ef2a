"""The tokens of a corpus: equal to the tokenizer's calls; their pieces."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.encoders import WORDS

from finetune.data.documents import Documents, read_documents
from finetune.models.batch import collate
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.pretraining import pieces as pieces_module
from finetune.task_types.pretraining.pieces import SPECIAL, PieceFeatures, Tokens, tokens_of, vocabulary_of


@pytest.fixture(autouse=True)
def few_characters_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "CHARS_AT_ONCE", 300)


def sentence(drawn: random.Random) -> str:
    words = [drawn.choice([*WORDS, "catlike", "Überraschung", "don't", "3.14", "...", "한국어", "x" * 120])
             for _ in range(drawn.randint(1, 12))]  # fmt: skip
    return " ".join(words)


@pytest.fixture
def corpus(tmp_path: Path) -> Documents:
    drawn = random.Random(0)
    documents = ["\n".join(sentence(drawn) for _ in range(drawn.randint(1, 6))) for _ in range(120)]
    (tmp_path / "corpus.txt").write_text("\n\n".join([*documents, "\u200b", "cat cat"]), encoding="utf-8")
    return read_documents(tmp_path / "corpus.txt")


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "xlm_roberta"])
def test_tokens_are_those_of_a_call_for_each_line(
    family: str, corpus: Documents, request: pytest.FixtureRequest
) -> None:
    tokenizer = load_tokenizer(request.getfixturevalue(f"tiny_{family}"))
    found = tokens_of(corpus, tokenizer)
    lines = [line for document in corpus for line in document.lines]
    expected = [tokenizer(line, add_special_tokens=False) for line in lines]
    assert found.ids.dtype == np.uint16
    assert [found.ids[a:b].tolist() for a, b in pairwise(found.lines)] == [one["input_ids"] for one in expected]
    assert np.diff(found.documents).tolist() == [len(document.lines) for document in corpus]
    for one, (begin, end) in zip(expected, pairwise(found.lines), strict=True):
        words = one.word_ids()
        starts = [at == 0 or words[at] != words[at - 1] for at in range(len(words))]
        assert found.starts[begin:end].tolist() == starts


def made_of(documents: list[list[list[int]]]) -> Tokens:
    """A token file of documents of lines of words with so many tokens."""
    words = [word for lines in documents for line in lines for word in line]
    starts = np.concatenate([[True] + [False] * (word - 1) for word in words])
    lines = np.cumsum([0, *(sum(line) for lines in documents for line in lines)])
    return Tokens(
        ids=np.arange(len(starts)),
        starts=starts,
        lines=lines,
        documents=np.cumsum([0, *map(len, documents)]),
        offsets=np.zeros((0, 2)),
    )


def pieces(tokens: Tokens, size: int, folder: Path) -> np.ndarray:
    """The document, the first token and the end of each piece, `(pieces, 3)`."""
    features = PieceFeatures(tokens, vocabulary_of(load_tokenizer(folder)), size=size)
    return np.stack([features.rows, features.starts, features.ends], axis=1)


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([[[1] * 5], [[1] * 9]], [(0, 5), (5, 14)]),  # never across documents
        ([[[1] * 130]], [(0, 65), (65, 130)]),  # not 126 and 4
        ([[[1] * 120, [1] * 60]], [(0, 120), (120, 180)]),  # at the end of a line
        ([[[1] * 60, [1] * 220]], [(0, 126), (126, 203), (203, 280)]),  # which would waste too much
        ([[[1] * 120, *[[4]] * 40]], [(0, 124), (124, 200), (200, 280)]),
        ([[[1] * 125 + [3] * 20]], [(0, 125), (125, 185)]),
        ([[[1] * 20 + [100] + [10]]], [(0, 20), (20, 130)]),  # half of it would be within a word
        ([[[300]]], [(0, 126), (126, 252), (252, 300)]),  # a word that is longer than a piece
    ],
)
def test_pieces(documents: list[list[list[int]]], expected: list[tuple[int, int]], tiny_bert: Path) -> None:
    file = made_of(documents)
    found = pieces(file, 126, tiny_bert)
    assert [(start, end) for _, start, end in found.tolist()] == expected
    assert found[:, 0].tolist() == (np.searchsorted(file.bounds, found[:, 1], side="right") - 1).tolist()


def test_features_of_pieces(tiny_vocabulary: Path, corpus: Documents) -> None:
    tokenizer = load_tokenizer(tiny_vocabulary)
    found = tokens_of(corpus, tokenizer)
    vocabulary = vocabulary_of(tokenizer)
    before, after = vocabulary.single.before, vocabulary.single.after
    features = PieceFeatures(found, vocabulary, size=1_000)
    for feature in features:
        encoded = [tokenizer(line, add_special_tokens=False)["input_ids"] for line in corpus[feature.row].lines]
        inner = [number for line in encoded for number in line]
        assert list(feature.input_ids) == [*before, *inner, *after]
        assert [*before, *after] == tokenizer("")["input_ids"]
        assert len(feature) == len(feature.note.units) == features.lengths[features.rows.tolist().index(feature.row)]
        assert np.flatnonzero(feature.note.units == SPECIAL).tolist() == [0, len(feature) - 1]
    collate(features[:2], pad_id=tokenizer.pad_token_id or 0)
