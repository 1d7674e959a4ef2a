"""Sentence order: two texts of whole lines that follow each other, swapped half of the time."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from support.corpora import TOKENIZERS, documents, piece_features

from finetune.data.documents import Document
from finetune.data.rows import Rows
from finetune.errors import UserError
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.plugins.objectives.mlm_sop import IN_ORDER, IS_SWAPPED, with_sentence_order
from finetune.task_types.pretraining.pieces import NEXT, SPECIAL
from finetune.task_types.pretraining.task import TextTask

DOCUMENT = Document("1", ("the cat sat", "a dog ran", "she saw"))


def task(rows: list[Document]) -> TextTask:
    return TextTask(name="text", read=lambda *_: Rows(rows=rows, origin="dev.txt"), objective="mlm-sop")


def texts_of(feature: Feature, folder: Path) -> list[str]:
    """The two texts of a pair, as words."""
    tokenizer = load_tokenizer(folder)
    return tokenizer.decode(feature.input_ids).removeprefix("[CLS] ").removesuffix(" [SEP]").split(" [SEP] ")


def test_the_pairs_of_a_document_by_hand(tiny_bert: Path) -> None:
    features, seen = piece_features([DOCUMENT], tiny_bert, size=20)[:], set()
    for seed in range(40):
        (pair,) = with_sentence_order(features, np.random.default_rng(seed))
        seen.add((*texts_of(pair, tiny_bert), pair.label[NEXT]))
    assert seen == {
        ("the cat sat", "a dog ran she saw", IN_ORDER),
        ("a dog ran she saw", "the cat sat", IS_SWAPPED),
        ("the cat sat a dog ran", "she saw", IN_ORDER),
        ("she saw", "the cat sat a dog ran", IS_SWAPPED),
    }


def test_a_text_of_one_line_has_no_label_and_ends_within_a_line_are_of_both(tiny_bert: Path) -> None:
    (one,) = piece_features([Document("1", ("the cat sat on a house",))], tiny_bert, size=20)[:]
    (pair,) = with_sentence_order([one], np.random.default_rng(0))
    assert (texts_of(pair, tiny_bert), pair.label[NEXT]) == (["the cat sat", "on a house"], IGNORED)
    words = "the cat sat on a house it was red and old".split()  # noqa: SIM905
    lines = Document("1", (" ".join(words), " ".join(words)))
    pieces = [piece for piece in piece_features([lines], tiny_bert, size=15)[:] if len(piece.note.lines) == 2]
    assert pieces
    for seed in range(20):
        for pair in with_sentence_order(pieces, np.random.default_rng(seed)):
            texts = [text.split() for text in texts_of(pair, tiny_bert)]
            if pair.label[NEXT] != IGNORED:
                assert all(text[0] != "the" and text[-1] != "old" for text in texts)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_half_of_the_pairs_are_swapped(name: str, request: pytest.FixtureRequest) -> None:
    features = piece_features(documents(60, lines=(3, 8)), request.getfixturevalue(name), size=48)[:]
    labels = Counter[int]()
    for seed in range(10):
        for pair in with_sentence_order(features, np.random.default_rng(seed)):
            labels[pair.label[NEXT]] += 1
            assert len(pair.input_ids) == len(pair.note.units)
    assert chisquare([labels[IN_ORDER], labels[IS_SWAPPED]]).pvalue > 1e-3


def test_dev_has_lines_that_follow_each_other_and_the_same_labels_for_every_tokenizer(
    request: pytest.FixtureRequest,
) -> None:
    rows, seen = documents(80, lines=(1, 7), seed=4), list[list[object]]()
    for name in TOKENIZERS:
        folder = request.getfixturevalue(name)
        pairs = [f for f in task(rows).encode(rows, load_tokenizer(folder), 48) if f.note.pair is not None]
        assert all(len(pair) <= 48 for pair in pairs)
        seen.append([(pair.row, pair.note.pair, pair.label[NEXT]) for pair in pairs])
        if name == "tiny_bert":
            for pair in pairs:
                first, second = texts_of(pair, folder)[:: -1 if pair.label[NEXT] == IS_SWAPPED else 1]
                text = load_tokenizer(folder).decode(
                    load_tokenizer(folder)(" ".join(rows[pair.row].lines), add_special_tokens=False)["input_ids"]
                )
                assert f"{first} {second}" in text
    assert seen[0] == seen[1] == seen[2]
    labels = Counter(label for *_, label in seen[0])
    assert chisquare([labels[IN_ORDER], labels[IS_SWAPPED]]).pvalue > 1e-3  # type: ignore[index]


def test_one_document_of_two_lines_is_enough_and_none_is_not(tiny_bert: Path) -> None:
    ours = task([DOCUMENT])
    assert ours.metric_names[-1] == "sentence order"
    assert len(ours.load(None, "dev").rows) == 1  # type: ignore[arg-type]
    ours.require_batch(1)
    with pytest.raises(UserError, match="dev has fewer than 1"):
        task([Document("1", ("the cat",))]).load(None, "dev")  # type: ignore[arg-type]
    (pair,) = with_sentence_order(piece_features([DOCUMENT], tiny_bert, size=20)[:], np.random.default_rng(0))
    assert (pair.note.units == SPECIAL).sum() == 3
