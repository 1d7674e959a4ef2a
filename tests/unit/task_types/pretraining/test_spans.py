"""Spans of masked words have the lengths and shares of SpanBERT; its boundary objective equals a plain computation."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency, chisquare
from support.corpora import TOKENIZERS, documents, piece_features
from support.training import CPU
from transformers import AutoModelForMaskedLM, AutoTokenizer

from finetune.data.documents import Document
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.feature import IGNORED, Feature, label_counts
from finetune.models.loading import load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.pretraining.boundary_head import BoundaryHead, span_ends
from finetune.task_types.pretraining.head import WordHead
from finetune.task_types.pretraining.label_names import BOUNDARY, WORDS
from finetune.task_types.pretraining.masks import PLACES, Masking
from finetune.task_types.pretraining.piece import SPECIAL, STARTS, piece_vocabulary
from finetune.task_types.pretraining.task import TextTask

PAPER = (0.8, 0.1, 0.1)
SPANS = Masking(share=0.15, replace=PAPER, unit="spans")


@pytest.fixture(params=TOKENIZERS)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def masked(features: list[Feature], seeds: int) -> list[tuple[Feature, Feature]]:
    drawn = (SPANS.masked(features, np.random.default_rng(seed)) for seed in range(seeds))
    return [pair for some in drawn for pair in zip(features, some, strict=True)]


def runs(places: Any) -> list[list[int]]:
    """Runs of neighbours, by a loop."""
    found: list[list[int]] = []
    for place in places:
        if found and place == found[-1][-1] + 1:
            found[-1].append(int(place))
        else:
            found.append([int(place)])
    return found


def plain_spans(words: int, generator: np.random.Generator) -> list[int]:
    """Lengths of runs of masked words as the paper says: geometric spans at random words until 15 % are masked."""
    hidden, budget = set[int](), 0.15 * words
    while len(hidden) < budget:
        length = 11
        while length > 10:
            length = int(generator.geometric(0.2))
        start = int(generator.integers(words))
        if start in hidden:
            continue
        for word in range(start, min(start + length, words)):
            if word in hidden or len(hidden) >= budget:
                break
            hidden.add(word)
    return [len(run) for run in runs(sorted(hidden))]


def test_spans_are_those_of_a_plain_drawing_of_the_paper(tiny_bert: Path) -> None:
    """Of pieces of 80 words of one token, whose 15 % are 12."""
    rows = [Document(str(number), ("the red cat sat " * 20,)) for number in range(40)]
    features = [one for one in piece_features(rows, tiny_bert, size=80) if len(one) == 82]
    assert len(features) == 40
    ours = Counter(len(run) for _, after in masked(features, 30) for run in runs(after.reads))
    generator = np.random.default_rng(0)
    theirs = Counter(length for _ in range(1_200) for length in plain_spans(80, generator))
    table = [[min(of[length], 10**9) for length in range(1, 11)] for of in (ours, theirs)]
    assert chi2_contingency(table).pvalue > 1e-3
    assert {len(after.reads) for _, after in masked(features, 30)} == {12}


def test_the_share_is_15_percent_in_whole_words_that_are_as_likely_as_another(folder: Path) -> None:
    features = piece_features(documents(30, lines=(9, 12)), folder, size=100)[:]
    tokens = sum(int(np.count_nonzero(feature.note.units)) for feature in features)
    drawn = [SPANS.masked(features, np.random.default_rng(seed)) for seed in range(60)]
    counts = [sum(len(after.reads) for after in some) for some in drawn]
    assert abs(np.mean(counts) - 0.15 * tokens) < 4 * np.std(counts, ddof=1) / np.sqrt(60)
    for some in drawn[:5]:
        for after in some:
            units, hidden = after.note.units, set(after.reads.tolist())
            assert (units[after.reads] != SPECIAL).all()
            for place in hidden:
                if units[place] != STARTS:
                    assert place - 1 in hidden  # the word's other tokens too
                if place + 1 < len(units) and units[place + 1] not in (STARTS, SPECIAL):
                    assert place + 1 in hidden


def test_all_tokens_of_a_span_become_mask_or_random_or_stay(folder: Path) -> None:
    vocabulary, counts = piece_vocabulary(load_tokenizer(folder)), Counter[str]()
    for before, after in masked(piece_features(documents(30, lines=(3, 8)), folder, size=48)[:], 20):
        for run in runs(after.reads):
            now, was = np.asarray(after.input_ids)[run], np.asarray(before.input_ids)[run]
            kind = "mask" if (now == vocabulary.mask_id).all() else "same" if (now == was).all() else "random"
            assert kind != "random" or not (now == vocabulary.mask_id).any()
            counts[kind] += 1
    assert chisquare(
        [counts[kind] for kind in ("mask", "random", "same")], np.array(PAPER) * counts.total()
    ).pvalue > 1e-4  # fmt: skip


def test_the_ends_of_spans_are_the_tokens_around_runs() -> None:
    positions = torch.tensor([[2, 3, 4, 7, 9, 10], [1, 5, 6, -1, -1, -1]])
    before, after, places = span_ends(positions)
    assert before[0].tolist() == [1, 1, 1, 6, 8, 8] and before[1, :3].tolist() == [0, 4, 4]
    assert after[0].tolist() == [5, 5, 5, 8, 11, 11] and after[1, :3].tolist() == [2, 7, 7]
    assert places[0].tolist() == [0, 1, 2, 0, 0, 1] and places[1, :3].tolist() == [0, 0, 1]


def drawn_batch(folder: Path) -> tuple[Any, list[Feature]]:
    task = TextTask(name="text", read=lambda *_: None, objective="mlm-sbo")  # type: ignore[arg-type, return-value]
    pieces = piece_features(documents(6, lines=(3, 5)), folder, size=40)[:4]
    features = list(task.stream.draw(pieces, np.random.default_rng(3)))
    return collate(features, pad_id=load_tokenizer(folder).pad_token_id), features


def test_both_losses_equal_a_plain_computation_token_by_token(folder: Path) -> None:
    recipe = Recipe(task="any", seed=0, train=Train(dropout=0.0))
    model, _ = build_model(folder, BoundaryHead, recipe, device=CPU)
    torch.nn.init.normal_(model.head.boundary.places.weight)
    batch, features = drawn_batch(folder)
    with torch.no_grad():
        logits = model.train()(*batch.inputs())
        found = model.head.losses(logits, batch.labels)
        states = model.backbone.encoder(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            **({} if batch.token_type_ids is None else {"token_type_ids": batch.token_type_ids}),
        ).last_hidden_state
        layers, words, totals, counts = model.head.boundary, model.head, Counter[str](), Counter[str]()
        for row, feature in enumerate(features):
            for run in runs(feature.reads):
                for place, position in enumerate(run):
                    label = int(feature.label[WORDS][list(feature.reads).index(position)])
                    own = words.words(words.norm(words.activation(words.dense(states[row, position]))))
                    totals[WORDS] -= float(own.log_softmax(-1)[label])
                    counts[WORDS] += 1
                    if place < PLACES:
                        ends = torch.cat(
                            [states[row, run[0] - 1], states[row, run[-1] + 1], layers.places.weight[place]]
                        )
                        hidden = layers.first_norm(torch.nn.functional.gelu(layers.first(ends)))
                        vector = layers.second_norm(torch.nn.functional.gelu(layers.second(hidden)))
                        totals[BOUNDARY] -= float(words.words(vector).log_softmax(-1)[label])
                        counts[BOUNDARY] += 1
    assert {name: float(loss) for name, loss in found.items()} == pytest.approx(dict(totals), rel=1e-4)
    assert label_counts(features) == dict(counts)


def test_tokens_far_from_the_start_of_a_span_have_no_label_from_its_ends(tiny_bert: Path) -> None:
    _, features = drawn_batch(tiny_bert)
    vocabulary = features[0].note.vocabulary
    assert all(np.array_equal(one.label[WORDS], one.label[BOUNDARY]) for one in features)
    words = ("catlikexxxxxxxxxxxxxxxxxxxxxxxxxxxx " * 3,)  # one word has more tokens than places
    long = piece_features([Document("1", words)], tiny_bert, size=40)[:1]
    task = TextTask(name="text", read=lambda *_: None, objective="mlm-sbo")  # type: ignore[arg-type, return-value]
    (drawn,) = task.stream.draw(long, np.random.default_rng(0))
    assert (drawn.label[BOUNDARY][PLACES:] == IGNORED).all() and len(drawn.reads) > PLACES
    assert (drawn.label[WORDS] != IGNORED).all() and vocabulary.single.before


def test_what_is_saved_predicts_words_and_lacks_the_layers_of_training(folder: Path, tmp_path: Path) -> None:
    model, new = build_model(folder, BoundaryHead, Recipe(task="any", seed=0), device=CPU)
    assert not any("boundary" in name for name in new)
    save_checkpoint(model.eval(), tmp_path, AutoTokenizer.from_pretrained(folder), {"max_length": 32})
    _, info = AutoModelForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and not [name for name in info["unexpected_keys"] if "pooler" not in name]
    batch, _ = drawn_batch(folder)
    again = [load_trained(tmp_path, head).eval() for head in (BoundaryHead, WordHead)]
    with torch.no_grad():
        found = model(*batch.inputs())
        assert all(torch.allclose(one(*batch.inputs()), found, atol=1e-5) for one in again)


def test_single_words_clash_with_the_objective() -> None:
    with pytest.raises(UserError, match="mlm-sbo masks spans, and mask is set") as found:
        TextTask(name="text", read=lambda *_: None, objective="mlm-sbo", mask="words")  # type: ignore[arg-type, return-value]
    assert found.value.way_out == "Leave mask out"
