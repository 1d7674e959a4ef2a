"""What is random in a batch of pre-training has the paper's shares, and is a function of the generator alone."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.tree import DecisionTreeClassifier
from support.corpora import TOKENIZERS, documents, piece_features
from support.encoders import WORDS as VOCABULARY
from transformers import PreTrainedTokenizerBase

from finetune.data.documents import Document
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.load import load_tokenizer
from finetune.models.tokenizers.train import train_tokenizer
from finetune.runs.events import unwatched
from finetune.task_types.pretraining.draw import IS_NEXT, IS_RANDOM, next_words, with_masks, with_next_sentence
from finetune.task_types.pretraining.pieces import NEXT, SPECIAL, STARTS, WORDS, Piece, vocabulary_of
from finetune.task_types.pretraining.task import TextTask

TEXT = ("the red cat sat " * 9,)
BY_CHANCE = 1e-3  # the least p-value; seeds are fixed


@pytest.fixture(params=TOKENIZERS)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


Way = Callable[[Sequence[Feature], np.random.Generator], list[Feature]]


def masking(unit: str, share: float = 0.15) -> Way:
    return partial(with_masks, share=share, unit=unit)  # type: ignore[arg-type]


def drawn(way: Way, features: Sequence[Feature], times: int) -> list[tuple[Feature, Feature]]:
    """Each feature before and after masking, of many draws of the whole batch."""
    return [
        pair for seed in range(times) for pair in zip(features, way(features, np.random.default_rng(seed)), strict=True)
    ]


def some_pieces(folder: Path) -> list[Feature]:
    return piece_features(documents(30, lines=(3, 8)), folder, size=48)[:]


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_15_percent_of_the_tokens_are_predicted(unit: str, folder: Path) -> None:
    """In pieces in which every word is shorter than that."""
    features = piece_features(documents(30, lines=(9, 12)), folder, size=100)[:]
    tokens = sum(int(np.count_nonzero(feature.note.units)) for feature in features)
    by_chance = np.array([
        sum(len(after.reads) for after in masking(unit)(features, np.random.default_rng(seed)))
        for seed in range(80)
    ])  # fmt: skip
    error = by_chance.std(ddof=1) / np.sqrt(len(by_chance))
    assert abs(by_chance.mean() - 0.15 * tokens) < 3.5 * error
    assert error < 0.002 * tokens


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_of_these_80_percent_become_mask_10_random_and_10_stay(unit: str, folder: Path) -> None:
    vocabulary = vocabulary_of(load_tokenizer(folder))
    counts, random = Counter[str](), Counter[int]()
    for before, after in drawn(masking(unit), some_pieces(folder), 30):
        assert np.asarray(after.label[WORDS]).tolist() == np.asarray(before.input_ids)[after.reads].tolist()
        for was, now in zip(after.label[WORDS], after.input_ids[after.reads], strict=True):
            counts["mask" if now == vocabulary.mask_id else "same" if now == was else "other"] += 1
            random[int(now)] += int(now != vocabulary.mask_id and now != was)
    by_luck = 0.1 / len(vocabulary.ordinary)  # the random token is the one that was there
    expected = np.array([0.8, 0.1 + by_luck, 0.1 - by_luck]) * counts.total()
    assert chisquare([counts[name] for name in ("mask", "same", "other")], expected).pvalue > BY_CHANCE
    assert chisquare([random[number] for number in vocabulary.ordinary.tolist()]).pvalue > BY_CHANCE
    assert random.total() == sum(random[number] for number in vocabulary.ordinary.tolist())  # none is special


@pytest.mark.slow
def test_whole_words_are_whole(folder: Path) -> None:
    several = 0
    for before, after in drawn(masking("words"), some_pieces(folder), 20):
        units = before.note.units
        starts = [*np.flatnonzero(units == STARTS).tolist(), len(units) - 1]
        for begin, end in pairwise(starts):
            read = np.isin(np.arange(begin, end), after.reads)
            assert read.all() or not read.any()
            several += int(read.all() and end - begin > 1)
    assert several > 100


def naming(kind: str, folder: Path) -> tuple[list[Document], PreTrainedTokenizerBase]:
    """Documents that name special tokens, some of them nothing else, and a tokenizer that has these."""
    tokenizer = load_tokenizer(folder) if kind == "Unigram" else train_tokenizer(TEXT, size=270, least=0)
    cls, sep, mask = tokenizer.cls_token, tokenizer.sep_token, tokenizer.mask_token
    lines = (f"cat {sep} red {mask}cat", cls, f"the {cls} cat", f"{sep} {sep}", f"{mask}red")
    return [Document(str(n), tuple(lines[(n + at) % 5] for at in range(1 + n % 6))) for n in range(30)], tokenizer


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_special_tokens_that_a_text_names_are_never_predicted(kind: str, tiny_albert: Path) -> None:
    rows, tokenizer = naming(kind, tiny_albert)
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    task = TextTask(name="text", read=None)  # type: ignore[arg-type]
    features, predicted = list(task.train_features(rows, tokenizer, 12, unwatched)), Counter[int]()
    assert sum(int(number) in special for feature in features for number in feature.input_ids[1:-1]) > 20
    assert any(not (feature.note.units != SPECIAL).any() for feature in features)
    for seed in range(20):
        generator = np.random.default_rng(seed)
        for some in (features, features[:1], with_next_sentence(features, generator, size=10)):
            found = [masking(unit, 0.5)(some, generator) for unit in ("tokens", "words")]
            for feature in chain(next_words(some), *found):
                predicted.update(feature.label[WORDS].tolist())
    for objective in ("mlm", "ltr"):
        for feature in replace(task, objective=objective).encode(rows, tokenizer, 12):
            predicted.update(feature.label[WORDS].tolist())
    assert predicted and not special & predicted.keys()


def test_the_next_word_is_read_before_it(folder: Path) -> None:
    features = some_pieces(folder)
    for before, after in zip(features, next_words(features), strict=True):
        ids = np.asarray(before.input_ids)
        assert np.array_equal(after.input_ids, ids)
        assert after.reads.tolist() == list(range(len(ids) - 2))  # all but the last token and what follows the text
        assert after.label[WORDS].tolist() == ids[1:-1].tolist()


def lined(rows: int, lines: Sequence[int], folder: Path) -> list[Feature]:
    """Features of lines of these lengths; a token's id is its row times 1000 and its place in the text."""
    vocabulary, total = vocabulary_of(load_tokenizer(folder)), sum(lines)
    before, after = vocabulary.single.before, vocabulary.single.after
    units = np.full(len(before) + total + len(after), SPECIAL, np.int8)
    units[len(before) : len(before) + total] = STARTS
    begins = np.cumsum([0, *lines])[:-1] + len(before)
    note = Piece(units=units, lines=begins, vocabulary=vocabulary)
    return [
        Feature(row=row, input_ids=np.array([*before, *(row * 1000 + np.arange(total)), *after]), note=note)
        for row in range(rows)
    ]


def texts_of(pair: Feature) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the two texts of a pair, between special tokens."""
    positions = np.flatnonzero(pair.note.units != SPECIAL)
    gap = np.flatnonzero(np.diff(positions) > 1)
    assert len(gap) == 1
    first, second = np.split(positions, gap + 1)
    return np.asarray(pair.input_ids)[first], np.asarray(pair.input_ids)[second]


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_albert", "tiny_roberta"])
def test_half_of_the_pairs_follow_each_other(name: str, request: pytest.FixtureRequest) -> None:
    features = lined(16, [4, 5, 6, 3], request.getfixturevalue(name))
    labels, cuts = Counter[int](), Counter[int]()
    for seed in range(100):
        for feature, pair in zip(
            features, with_next_sentence(features, np.random.default_rng(seed), size=18), strict=True
        ):
            first, second = texts_of(pair)
            assert first.tolist() == list(range(first[0], first[0] + len(first)))
            assert first[-1] % 1000 in (3, 8, 14)  # it ends with a line
            assert (first[0] // 1000, pair.row) == (feature.row, feature.row)
            assert second[0] % 1000 in (4, 9, 15)  # this one begins with a line
            follows = second[0] == first[-1] + 1
            assert follows == (second[0] // 1000 == feature.row) == (pair.label[NEXT] == IS_NEXT)
            labels[pair.label[NEXT]] += 1
            cuts[int(first[-1] % 1000)] += 1
    assert chisquare([labels[IS_NEXT], labels[IS_RANDOM]]).pvalue > BY_CHANCE
    assert chisquare([cuts[place] for place in (3, 8, 14)]).pvalue > BY_CHANCE


KINDS_OF_TEXT = {  # lines of a document, words of a line
    "short documents": ((2, 4), (2, 12)),
    "long documents": ((10, 40), (3, 15)),
    "short lines": ((3, 9), (1, 3)),
    "long lines": ((2, 6), (20, 60)),
}


def told_by_length(pairs: Sequence[tuple[int, int, int]]) -> float:
    """The share of labels that a tree on lengths finds in held-out pairs (first, second, label); half is chance."""
    data = np.array([(first, second, first + second, label) for first, second, label in pairs])
    half = len(data) // 2
    train, test = data[:half], data[half:]
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(train[:, :3], train[:, 3])
    return float(tree.score(test[:, :3], test[:, 3]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS_OF_TEXT)
@pytest.mark.parametrize("split", ["train", "dev"])
def test_lengths_do_not_tell_which_text_follows(split: str, kind: str, tiny_bert: Path) -> None:
    lines, words = KINDS_OF_TEXT[kind]
    draw = np.random.default_rng(1)
    rows = [
        Document(str(number), tuple(" ".join(draw.choice(VOCABULARY, size)) for size in draw.integers(*words, count)))
        for number, count in enumerate(draw.integers(*lines, 700))
    ]
    task = TextTask(name="text", read=None, objective="mlm-nsp")  # type: ignore[arg-type]
    tokenizer = load_tokenizer(tiny_bert)
    if split == "dev":
        found = [feature for feature in task.encode(rows, tokenizer, 64) if feature.note.pair is not None]
        pairs = [(sum(f.token_type_ids == 0) - 2, sum(f.token_type_ids == 1) - 1, f.label[NEXT]) for f in found]
    else:
        features = list(task.train_features(rows, tokenizer, 64, unwatched))
        batches = [features[begin : begin + 16] for begin in range(0, len(features) - 16, 16)]
        made = [one for _ in range(3) for some in batches for one in with_next_sentence(some, draw, size=61)]
        pairs = [(*map(len, texts_of(one)), one.label[NEXT]) for one in made if one.label[NEXT] != IGNORED]
    count = len(pairs) - len(pairs) // 2
    assert count > 300
    assert abs(told_by_length(pairs) - 0.5) < 3 * 0.5 / np.sqrt(count)


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_albert", "tiny_roberta"])
@pytest.mark.parametrize("size", [2, 7, 10, 25])
def test_truncation_keeps_what_is_near(size: int, name: str, request: pytest.FixtureRequest) -> None:
    features = lined(6, [9, 16], request.getfixturevalue(name))
    special = features[0].note.vocabulary.pair.special_tokens
    for pair in with_next_sentence(features, np.random.default_rng(0), size=size):
        first, second = texts_of(pair)
        assert len(pair) == len(pair.note.units) == len(first) + len(second) + special <= size + special
        assert len(first) == min(9, max(size - 16, size // 2))
        assert (first[-1] % 1000, second[0] % 1000) == (8, 9)
        segments = pair.token_type_ids
        expected = pair.note.vocabulary.pair.fill(first, second)[1]
        assert segments is expected is None or np.array_equal(segments, expected)
        if name == "tiny_bert":
            assert segments.tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1)
