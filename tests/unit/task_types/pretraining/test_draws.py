"""What is read of a corpus and drawn of it: tokens and pieces, masks with the paper's shares, pairs of texts."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare
from support.corpora import TOKENIZERS, documents, piece_features
from support.encoders import WORDS as VOCABULARY
from support.own_data import own_task

from finetune.data.documents import Document
from finetune.data.rows import CANONICAL
from finetune.models.feature import Feature
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.pretraining import pieces as pieces_module
from finetune.task_types.pretraining.draw import IS_NEXT, IS_RANDOM, next_words, with_masks, with_next_sentence
from finetune.task_types.pretraining.pieces import (
    NEXT,
    SPECIAL,
    STARTS,
    WORDS,
    Piece,
    PieceFeatures,
    tokens_of,
    vocabulary_of,
)
from finetune.task_types.types import columns_of, layout_of

BY_CHANCE = 1e-3  # the least p-value; seeds are fixed


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "xlm_roberta"])
def test_tokens_are_those_line_by_line(
    family: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces_module, "CHARS_AT_ONCE", 300)
    drawn, odd = random.Random(0), ["catlike", "Überraschung", "don't", "3.14", "...", "한국어", "x" * 120]
    lines = [" ".join(drawn.choices([*VOCABULARY, *odd], k=drawn.randint(1, 12))) for _ in range(360)]
    corpus = [Document(str(n), tuple(lines[n * 3 : n * 3 + 3])) for n in range(120)]
    tokenizer = load_tokenizer(request.getfixturevalue(f"tiny_{family}"))
    found, expected = tokens_of(corpus, tokenizer), [tokenizer(line, add_special_tokens=False) for line in lines]
    assert [found.ids[a:b].tolist() for a, b in pairwise(found.lines)] == [one["input_ids"] for one in expected]
    assert np.diff(found.documents).tolist() == [3] * 120
    for one, (begin, end) in zip(expected, pairwise(found.lines), strict=True):
        words = one.word_ids()
        starts = [at == 0 or words[at] != words[at - 1] for at in range(len(words))]
        assert found.starts[begin:end].tolist() == starts
    features = PieceFeatures(found, vocabulary_of(tokenizer), size=1_000)
    for feature, document in zip(features, corpus, strict=True):
        inner = [number for line in document.lines for number in tokenizer(line, add_special_tokens=False)["input_ids"]]
        first, last = tokenizer("")["input_ids"]
        assert list(feature.input_ids) == [first, *inner, last]
        assert np.flatnonzero(feature.note.units == SPECIAL).tolist() == [0, len(feature) - 1]


@pytest.mark.parametrize("unit", ["tokens", "words"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_masks_have_the_shares_of_the_paper(name: str, unit: Any, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(name)
    features = piece_features(documents(30, lines=(9, 12)), folder, size=100)[:]
    vocabulary = vocabulary_of(load_tokenizer(folder))
    counts, other, shares = Counter[str](), Counter[int](), list[int]()
    for seed in range(40):
        masked = with_masks(features, np.random.default_rng(seed), share=0.15, unit=unit)
        shares.append(sum(len(after.reads) for after in masked))  # type: ignore[arg-type]
        for before, after in zip(features, masked, strict=True):
            reads, now, was = np.asarray(after.reads), np.asarray(after.input_ids), np.asarray(before.input_ids)
            assert np.asarray(after.label[WORDS]).tolist() == was[reads].tolist()
            assert np.array_equal(np.delete(now, reads), np.delete(was, reads))
            kinds = np.where(
                now[reads] == vocabulary.mask_id, "mask", np.where(now[reads] == was[reads], "same", "other")
            )
            counts.update(kinds.tolist())
            other.update(now[reads][kinds == "other"].tolist())
            if unit == "words":  # whole ones
                starts = [*np.flatnonzero(before.note.units == STARTS).tolist(), len(now) - 1]
                read = np.isin(np.arange(len(now)), reads)
                assert all(read[a:b].all() or not read[a:b].any() for a, b in pairwise(starts))
    tokens, error = sum(np.count_nonzero(one.note.units) for one in features), np.std(shares, ddof=1) / np.sqrt(40)
    assert abs(np.mean(shares) - 0.15 * tokens) < 3.5 * error < 0.01 * tokens
    by_luck = 0.1 / len(vocabulary.ordinary)  # the random token is the one that was there
    expected = np.array([0.8, 0.1 + by_luck, 0.1 - by_luck]) * counts.total()
    assert chisquare([counts[kind] for kind in ("mask", "same", "other")], expected).pvalue > BY_CHANCE
    assert {*other} <= {*vocabulary.ordinary.tolist()}  # none is special
    assert chisquare([other[number] for number in vocabulary.ordinary.tolist()]).pvalue > BY_CHANCE
    for before, after in zip(features, next_words(features), strict=True):
        assert after.reads.tolist() == list(range(len(before) - 2))  # type: ignore[union-attr]
        assert after.label[WORDS].tolist() == np.asarray(before.input_ids)[1:-1].tolist()


def lined(rows: int, lines: list[int], folder: Path) -> list[Feature]:
    """Features of lines of these lengths; a token's id is its row times 1000 and its place in the text."""
    vocabulary, total = vocabulary_of(load_tokenizer(folder)), sum(lines)
    before, after = vocabulary.single.before, vocabulary.single.after
    units = np.array([SPECIAL, *[STARTS] * total, SPECIAL], np.int8)
    note = Piece(units=units, lines=np.cumsum([0, *lines])[:-1] + 1, vocabulary=vocabulary)
    return [
        Feature(row=n, input_ids=np.array([*before, *(n * 1000 + np.arange(total)), *after]), note=note)
        for n in range(rows)
    ]


def texts_of(pair: Feature) -> tuple[list[int], list[int]]:
    """Ids of the two texts of a pair, between special tokens."""
    positions = np.flatnonzero(pair.note.units != SPECIAL)
    (gap,) = np.flatnonzero(np.diff(positions) > 1)
    ids = np.asarray(pair.input_ids)[positions].tolist()
    return ids[: gap + 1], ids[gap + 1 :]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_half_of_the_pairs_follow_each_other(name: str, request: pytest.FixtureRequest) -> None:
    features = lined(16, [4, 5, 6, 3], request.getfixturevalue(name))
    labels, cuts = Counter[int](), Counter[int]()
    for seed in range(100):
        pairs = with_next_sentence(features, np.random.default_rng(seed), size=18)
        for feature, pair in zip(features, pairs, strict=True):
            first, second = texts_of(pair)
            assert first == list(range(first[0], first[0] + len(first)))
            assert (first[0] // 1000, pair.row) == (feature.row, feature.row)
            assert second[0] % 1000 in (4, 9, 15)  # it begins with a line
            assert (second[0] == first[-1] + 1) == (second[0] // 1000 == feature.row) == (pair.label[NEXT] == IS_NEXT)
            labels[pair.label[NEXT]] += 1
            cuts[first[-1] % 1000] += 1
    assert chisquare([labels[IS_NEXT], labels[IS_RANDOM]]).pvalue > BY_CHANCE
    assert {*cuts} == {3, 8, 14} and chisquare([*cuts.values()]).pvalue > BY_CHANCE  # they end with a line


def test_the_column_of_a_table_is_kept_by_the_model_and_changes_no_id(tmp_path: Path) -> None:
    """Ids of earlier runs are of these facts: this test may not be changed."""
    path = tmp_path / "a.csv"
    path.write_text("review,mark\n" + "".join(f"the cat number {n} sat on the mat,{n % 2}\n" for n in range(30)))
    tasks = [own_task(path, {"shape": "text", **given}) for given in ({}, {"text": "review"})]
    assert [(layout_of(task) or {})["text"] for task in tasks] == [("review",)] * 2
    assert [CANONICAL(columns_of(task)) for task in tasks] == [
        '{"shape": "text", "text": []}',
        '{"shape": "text", "text": ["review"]}',
    ]
