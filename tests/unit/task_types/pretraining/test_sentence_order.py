"""Sentence order: two texts of whole lines that follow each other, swapped half of the time."""

import re
from collections import Counter
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.tree import DecisionTreeClassifier
from support.corpora import TOKENIZERS, documents, piece_features

from finetune.data.documents import Document
from finetune.data.rows import Rows
from finetune.errors import UserError
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.pretraining.label_names import NEXT, WORDS
from finetune.task_types.pretraining.sentence_order import IN_ORDER, IS_SWAPPED, with_sentence_order
from finetune.task_types.pretraining.task import TextTask

SIZE = 48


@pytest.fixture(params=TOKENIZERS)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def task(documents_of_dev: list[Document]) -> TextTask:
    return TextTask(name="text", read=lambda _, __: Rows(rows=documents_of_dev, origin="dev.txt"), objective="mlm-sop")


def texts_of(feature: Feature) -> tuple[list[int], list[int]]:
    """The two texts of a pair, by its units: special tokens are around and between them."""
    ids, units = np.asarray(feature.input_ids), feature.note.units
    runs = np.split(np.arange(len(ids)), np.flatnonzero(np.diff(units == 0)) + 1)
    one, two = ([int(ids[place]) for place in run] for run in runs if units[run[0]] != 0)
    return one, two


def test_a_pair_is_two_runs_of_a_document_in_order_or_swapped(folder: Path) -> None:
    """Against the lines themselves, tokenized one by one: each has whole lines alone, or none that is whole at its
    ends.
    """
    rows, tokenizer = documents(60, lines=(3, 8)), load_tokenizer(folder)
    lines = [[tokenizer(line, add_special_tokens=False)["input_ids"] for line in row.lines] for row in rows]
    whole = [{tuple(chain(*of[a:b])): (a, b) for a, b in combinations(range(len(of) + 1), 2)} for of in lines]
    features, labels, kinds = piece_features(rows, folder, size=SIZE)[:], Counter[int](), Counter[bool]()
    for seed in range(12):
        for feature in with_sentence_order(features, np.random.default_rng(seed), size=SIZE):
            labels[feature.label[NEXT]] += 1
            if feature.label[NEXT] == IGNORED:
                continue
            first, second = texts_of(feature)[:: -1 if feature.label[NEXT] == IS_SWAPPED else 1]
            found = [whole[feature.row].get(tuple(text)) for text in (first, second)]
            kinds[found[0] is not None] += 1
            if found[0] is not None and found[1] is not None:
                assert found[0][1] == found[1][0]
                continue
            words = " ".join(map(str, chain(*lines[feature.row])))
            assert re.search(rf"\b{' '.join(map(str, first))} .*\b{' '.join(map(str, second))}\b", words)
    assert kinds[True] and kinds[False]
    assert labels[IGNORED] < labels.total() / 3
    assert chisquare([labels[IN_ORDER], labels[IS_SWAPPED]]).pvalue > 1e-3


def test_neither_the_borders_nor_the_lengths_of_texts_tell_their_order(tiny_bert: Path) -> None:
    """Tokens that start or end a line are told apart from others; a tree on the four ends guesses."""
    rows = [Document(str(n), tuple(f"the {'cat ' * (3 + (n * k) % 9)}." for k in range(2, 9))) for n in range(150)]
    features = piece_features(rows, tiny_bert, size=24)[:]
    seen, labels = list[list[int]](), list[int]()
    for seed in range(3):
        for feature in with_sentence_order(features, np.random.default_rng(seed), size=24):
            if feature.label[NEXT] != IGNORED:
                one, two = texts_of(feature)
                seen.append([one[0], one[-1], two[0], two[-1]])
                labels.append(feature.label[NEXT])
    half = len(seen) // 2
    guess = DecisionTreeClassifier(max_depth=4, random_state=0).fit(seen[:half], labels[:half])
    assert abs(guess.score(seen[half:], labels[half:]) - 0.5) < 3.5 * 0.5 / np.sqrt(half)


def test_a_text_of_one_line_has_no_label(tiny_bert: Path) -> None:
    features = piece_features([Document("1", ("the red cat sat " * 9,))], tiny_bert, size=SIZE)[:]
    for feature in with_sentence_order(features, np.random.default_rng(0), size=SIZE):
        assert feature.label[NEXT] == IGNORED
        first, second = texts_of(feature)
        assert abs(len(first) - len(second)) <= 1


def test_what_is_drawn_is_a_function_of_the_generator_alone(tiny_bert: Path) -> None:
    features = piece_features(documents(20, lines=(3, 8)), tiny_bert, size=SIZE)[:]
    stream = task([]).stream
    one, two, other = (stream.draw(features, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(
        np.array_equal(a.input_ids, b.input_ids) and a.label[NEXT] == b.label[NEXT]
        for a, b in zip(one, two, strict=True)
    )
    assert any(len(a) != len(b) or a.label[NEXT] != b.label[NEXT] for a, b in zip(one, other, strict=True))
    assert {name for feature in one for name in feature.label} == {WORDS, NEXT}


def test_dev_has_each_pair_whole_and_its_score_is_named(folder: Path) -> None:
    rows = documents(40, lines=(1, 7))
    ours = task(rows)
    features = ours.codec.encode(rows, load_tokenizer(folder), SIZE + 3)
    pairs = [feature for feature in features if feature.note.pair is not None]
    assert {feature.label[NEXT] for feature in pairs} == {IN_ORDER, IS_SWAPPED}
    right = [
        np.array([[1.0, 7.0, *((0.2, -1.0) if f.label[NEXT] == IN_ORDER else (-1.0, 0.2))]] * len(f.label[WORDS]))
        for f in features
    ]
    answers = ours.codec.decode(right, features, rows)
    assert ours.scoring.score(answers, rows)["sentence order"] == 1
    assert ours.metric_names[-1] == "sentence order"
    wrong = [each * [1, 1, -1, -1] for each in right]
    assert ours.scoring.score(ours.codec.decode(wrong, features, rows), rows)["sentence order"] == 0


def test_one_document_of_two_lines_is_enough_and_none_is_an_error() -> None:
    ours = task([Document("1", ("the cat sat", "it ran")), Document("2", ("a dog",))])
    assert len(ours.load(None, "dev").rows) == 2  # type: ignore[arg-type]
    assert ours.stream.batch_fault(1) == "" != replace(ours, objective="mlm-nsp").stream.batch_fault(1)
    with pytest.raises(UserError, match="objective=mlm-sop needs documents of two lines or more, and dev has none"):
        task([Document("2", ("a dog",))]).load(None, "dev")  # type: ignore[arg-type]
