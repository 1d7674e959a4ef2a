"""Tagging: chunks equal conlleval's and seqeval's, every word is trained and scored exactly once, column files."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from support.published import PUBLISHED
from support.toys import tag_task
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.options import configured
from finetune.task_types.tagging.task import TaggingRow, TaggingTask


@pytest.mark.parametrize("context", ["sentence", "document"])
@pytest.mark.parametrize("max_length", [8, 13, 128])
def test_every_word_is_labelled_exactly_once(context: str, max_length: int, tiny_vocabulary: Path) -> None:
    task = configured(tag_task(), {"context": context})
    rows = task.load(Source(), "train").rows
    rows = [*rows, replace(rows[0], words=("cat\x00dog", "\x00", "abc" * 9), gold=("O", "B-ANIMAL", "O"))]
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_vocabulary), max_length)
    seen = Counter((f.row + after, word) for f in features for after, word in f.note.tolist())
    assert set(seen) == {(row, word) for row in range(len(rows)) for word in range(len(rows[row].words))}
    assert set(seen.values()) == {1}
    for feature in features:
        assert min(feature.reads) > 0 and max(feature.reads) < len(feature) - 1
        assert list(feature.reads) == sorted(set(feature.reads))
        for label, (after, word) in zip(feature.label, feature.note.tolist(), strict=True):
            assert task.labels[label] == rows[feature.row + after].gold[word]
    assert max(map(len, features)) <= max_length
    if context == "document" and max_length == 128:
        assert len(features) < len(rows)


def test_the_first_token_of_a_word_carries_its_tag(tiny_bert: Path) -> None:
    task: TaggingTask = tag_task()
    row = TaggingRow(id="", words=("cats", "sat", "on-it"), gold=("B-ANIMAL", "O", "O"))
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    (feature,) = task.encode([row], tokenizer, 32)
    tokens = tokenizer.convert_ids_to_tokens(feature.input_ids)
    assert [tokens[place] for place in feature.reads] == ["cat", "sat", "on"]
    assert len(tokens) > 3 + 2
    expected = tokenizer(list(row.words), is_split_into_words=True)
    assert feature.input_ids == expected["input_ids"]


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("running", [False, True])
def test_published_vocabularies_begin_each_word_at_its_first_token(name: str, running: bool, tmp_path: Path) -> None:
    """Where words begin with a space of their own or none, and a sign becomes several; one token after the other."""
    PUBLISHED[name].write(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    words = (
        "서울은",
        "한강,",
        "①번",
        "e\u0301te\u0301",
        normalize("NFD", "훈민정음"),
        "ＡＢＣ（１）",
        "…",
        "river",
        "9,411",
        "漢字🙂",
    )
    text = " ".join(words)
    starts = tuple(len(" ".join((*words[:place], ""))) for place in range(len(words)))
    given = {"text": text, "starts": starts} if running else {}
    row = TaggingRow(id="", words=words, gold=("O",) * len(words), **given)
    (feature,) = tag_task().encode([row], tokenizer, 400)
    plain = tokenizer(text, return_offsets_mapping=True)
    assert list(feature.input_ids) == plain["input_ids"]
    assert feature.note[:, 1].tolist() == list(range(len(words)))
    for place, start, word in zip(feature.reads, starts, words, strict=True):
        first, after = plain["offset_mapping"][place]
        assert start - 1 <= first <= start and after <= start + len(word)
        assert running is False or after > start  # a token of the space alone says nothing of a running text's word
        before = plain["offset_mapping"][place - 1][1]
        assert place == 1 or before <= start


def test_decoding_puts_each_word_back(tiny_bert: Path) -> None:
    task = configured(tag_task(), {"context": "document"})
    rows = task.load(Source(), "train").rows
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 10)
    logits = []
    for feature in features:
        given = np.full((len(feature.reads), len(task.labels)), -1.0)
        for place, (after, word) in enumerate(feature.note.tolist()):
            given[place, task.labels.index(rows[feature.row + after].gold[word])] = 5.0
        logits.append(given)
    answers = task.decode(logits, features, rows)
    assert [tuple(answer.value) for answer in answers] == [row.gold for row in rows]
    sure = 1 / (1 + (len(task.labels) - 1) * np.exp(-6))
    assert answers[0].probabilities == pytest.approx([sure] * len(rows[0].words))


def test_the_probability_of_a_words_own_tag_is_told(tiny_bert: Path) -> None:
    """Not what the predicted tag leaves: that is shared by all others."""
    task = tag_task()
    rows = task.load(Source(), "train").rows[:3]
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 32)
    logits = [np.random.default_rng(0).normal(size=(len(one.reads), len(task.labels))) for one in features]
    for given, row, answer in zip(logits, rows, task.decode(logits, features, rows), strict=True):
        chances = np.exp(given) / np.exp(given).sum(1, keepdims=True)
        own = [chances[word, task.labels.index(tag)] for word, tag in enumerate(row.gold)]
        assert answer.label_probabilities == pytest.approx(own)
        assert answer.probabilities == pytest.approx(chances.max(1).tolist())
    bare = [replace(row, gold=None) for row in rows]
    unlabelled = task.encode(bare, AutoTokenizer.from_pretrained(tiny_bert), 32)
    assert task.decode(logits, unlabelled, bare)[0].label_probabilities is None


def test_the_baseline_gives_each_word_its_most_frequent_tag() -> None:
    rows = [TaggingRow(id="", words=("cat", "cat", "cat", "a"), gold=("O", "B-ANIMAL", "B-ANIMAL", "O"))]
    (answer,) = tag_task().baselines(rows, [TaggingRow(id="", words=("cat", "new"))])["most-frequent-tag"]
    assert answer.value == ["B-ANIMAL", "O"]
