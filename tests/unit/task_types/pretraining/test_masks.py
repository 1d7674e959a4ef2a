"""What is random in a batch of pre-training has the paper's shares, and is a function of the generator alone."""

import copy
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
from support.training import CPU
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerBase

from finetune.data.documents import Document
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.load import load_tokenizer
from finetune.models.tokenizers.train import train_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe
from finetune.task_types.pretraining.draw import IS_NEXT, IS_RANDOM, next_words, with_masks, with_next_sentence
from finetune.task_types.pretraining.pieces import INSIDE, NEXT, SPECIAL, STARTS, WORDS, Piece, vocabulary_of
from finetune.task_types.pretraining.task import TextTask

TEXT = ("the red cat sat " * 9,)
PAPER = (0.8, 0.1, 0.1)
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


@pytest.mark.parametrize("share", [0.05, 0.4])
@pytest.mark.parametrize("sizes", [(2,), (3,), (1, 1, 4)])
def test_words_of_any_size_make_up_the_share(share: float, sizes: tuple[int, ...], tiny_bert: Path) -> None:
    """Also of words of one size alone, of which no number has exactly the share."""
    vocabulary = vocabulary_of(load_tokenizer(tiny_bert))
    units = [SPECIAL, *([STARTS, *[INSIDE] * (size - 1)] for size in sizes * 20), SPECIAL]
    flat = np.concatenate([np.atleast_1d(unit) for unit in units]).astype(np.int8)
    note = Piece(units=flat, lines=np.array([1]), vocabulary=vocabulary)
    features = [Feature(row=row, input_ids=np.full(len(flat), 7), note=note) for row in range(50)]
    found = [len(after.reads) for _, after in drawn(masking("words", share), features, 60)]
    assert abs(np.mean(found) / np.count_nonzero(flat) - share) < 0.01 * share


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


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_each_place_is_as_likely_as_another(unit: str, folder: Path) -> None:
    rows = [row for row in documents(200, lines=(8, 8)) if row]
    features = [feature for feature in piece_features(rows, folder, size=40) if len(feature) == 42][:60]
    assert len(features) > 40
    positions = Counter(int(place) for _, after in drawn(masking(unit), features, 25) for place in after.reads)
    assert set(positions) == set(range(1, 41))  # not the special tokens at both ends
    assert chisquare([positions[place] for place in range(1, 41)]).pvalue > BY_CHANCE / 10


def test_nothing_else_changes(folder: Path) -> None:
    for unit in ("tokens", "words"):
        for before, after in drawn(masking(unit), some_pieces(folder), 5):
            others = np.delete(np.arange(len(before)), after.reads)
            assert np.array_equal(np.asarray(before.input_ids)[others], after.input_ids[others])
            assert (after.note.units[after.reads] != SPECIAL).all()
            assert (after.row, after.note) == (before.row, before.note)
            assert np.all(np.diff(after.reads) > 0)


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


def test_tokens_of_a_word_are_masked_alone(tiny_bert: Path) -> None:
    units = {
        after.note.units[place]
        for _, after in drawn(masking("tokens"), some_pieces(tiny_bert), 5)
        if len(after.reads) == 3
        for place in after.reads
    }
    assert units == {STARTS, INSIDE}


def test_a_short_piece_has_one_predicted_token_or_word(folder: Path) -> None:
    features = piece_features(documents(20, lines=(1, 1)), folder, size=3)[:]
    assert {len(feature) for feature in features} >= {4, 5}
    assert all(len(after.reads) == 1 for _, after in drawn(masking("tokens", 0.01), features, 3))
    assert all(len(after.reads) >= 1 for _, after in drawn(masking("words", 0.01), features, 3))


def test_the_share_is_a_setting(folder: Path) -> None:
    features = some_pieces(folder)
    found = sum(len(after.reads) for _, after in drawn(masking("tokens", 0.5), features, 2))
    half = sum(int(np.count_nonzero(feature.note.units)) for feature in features)  # of two draws
    assert abs(found - half) < 0.01 * half


def test_masks_are_a_function_of_the_generator(tiny_bert: Path) -> None:
    features = some_pieces(tiny_bert)
    kept = [np.array(feature.input_ids) for feature in features]
    way = masking("words")
    one, two, other = (
        [np.concatenate([f.input_ids for f in way(features, np.random.default_rng(seed))])] for seed in (7, 7, 8)
    )
    assert np.array_equal(one, two) and not np.array_equal(one, other)
    assert all(np.array_equal(was, feature.input_ids) for was, feature in zip(kept, features, strict=True))


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


def test_a_piece_of_special_tokens_alone_has_no_loss(tiny_bert: Path) -> None:
    task, row = TextTask(name="text", read=None), Document("1", ("[SEP] [SEP]", "[SEP]"))  # type: ignore[arg-type]
    features = task.train_features([row], load_tokenizer(tiny_bert), 12, unwatched)
    for objective in ("mlm", "mlm-nsp", "ltr"):
        drawn = replace(task, objective=objective)
        model, _ = build_model(tiny_bert, drawn.head, Recipe(task="any", seed=0), device=CPU)
        batch = collate(drawn.draw(features, np.random.default_rng(0)), pad_id=0)
        losses = model.head.losses(model(*batch.inputs()), batch.labels)
        assert losses[WORDS].item() == 0


def test_the_next_word_is_read_before_it(folder: Path) -> None:
    features = some_pieces(folder)
    for before, after in zip(features, next_words(features), strict=True):
        ids = np.asarray(before.input_ids)
        assert np.array_equal(after.input_ids, ids)
        assert after.reads.tolist() == list(range(len(ids) - 2))  # all but the last token and what follows the text
        assert after.label[WORDS].tolist() == ids[1:-1].tolist()


def test_the_first_word_is_not_read_at_itself(tiny_bert: Path) -> None:
    """A tokenizer that puts nothing before a text leaves nothing to predict its first word from."""
    tokenizer, rows = copy.deepcopy(load_tokenizer(tiny_bert)), documents(3)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B:1", special_tokens=[])
    assert not vocabulary_of(tokenizer).single.before
    task = TextTask(name="text", read=None, objective="ltr")  # type: ignore[arg-type]
    for make in (
        lambda: task.encode(rows, tokenizer, 32),
        lambda: task.train_features(rows, tokenizer, 32, unwatched),
    ):
        with pytest.raises(UserError, match="objective=ltr"):
            make()
    assert TextTask(name="text", read=None).encode(rows, tokenizer, 32)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("one_line", [4, 7])
def test_texts_of_one_line_have_no_label_and_half_of_the_others_follow(one_line: int, tiny_bert: Path) -> None:
    features = lined(one_line, [18], tiny_bert) + lined(16, [4, 5, 6, 3], tiny_bert)[one_line:]
    pairs = [pair for seed in range(100) for pair in with_next_sentence(features, np.random.default_rng(seed), size=18)]
    labels = Counter(pair.label[NEXT] for pair in pairs)
    assert labels[IGNORED] == 100 * one_line
    assert chisquare([labels[IS_NEXT], labels[IS_RANDOM]]).pvalue > BY_CHANCE


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


def test_the_other_text_is_of_any_other_document(tiny_bert: Path) -> None:
    features = lined(8, [4, 4], tiny_bert)
    features[1] = features[0]  # two pieces of one document
    others = Counter[tuple[int, int]]()
    for seed in range(400):
        for pair in with_next_sentence(features, np.random.default_rng(seed), size=8):
            second = int(texts_of(pair)[1][0]) // 1000
            others[pair.row, second] += int(pair.label[NEXT] == IS_RANDOM)
    assert not any(count and first == second for (first, second), count in others.items())
    assert chisquare([others[5, row] for row in (2, 3, 4, 6, 7)]).pvalue > BY_CHANCE


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_line_without_another_document_is_not_its_own_second_text(length: int, tiny_bert: Path) -> None:
    """Else masked tokens could be copied from the other text."""
    (pair,) = with_next_sentence(lined(1, [length], tiny_bert), np.random.default_rng(0), size=18)
    ids = np.asarray(pair.input_ids)[pair.note.units != SPECIAL]
    assert ids.tolist() == list(range(length)) and pair.label[NEXT] == IGNORED
    assert pair.token_type_ids.sum() == length // 2 + 1  # the second half and what follows it


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


def test_a_truncated_word_counts_from_its_first_token_that_is_left(folder: Path) -> None:
    features = piece_features(documents(40, lines=(4, 6)), folder, size=60)[:]
    for pair in with_next_sentence(features, np.random.default_rng(0), size=20):
        for text in np.split(pair.note.units, np.flatnonzero(pair.note.units == SPECIAL)):
            assert not len(text[1:]) or text[1] == STARTS


def test_a_text_of_one_line_alone_in_its_batch_has_no_label(tiny_bert: Path) -> None:
    (pair,) = with_next_sentence(lined(1, [6], tiny_bert), np.random.default_rng(0), size=12)
    assert pair.label[NEXT] == IGNORED
    (next_,) = with_next_sentence(lined(1, [6, 6], tiny_bert), np.random.default_rng(0), size=12)
    assert next_.label[NEXT] == IGNORED
