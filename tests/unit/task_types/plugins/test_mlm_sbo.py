"""Span boundaries: which spans are masked, what is predicted from their ends, and what is saved."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.corpora import documents, piece_features
from support.training import CPU
from transformers import AutoModelForMaskedLM, AutoTokenizer

from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.feature import IGNORED, Feature, label_counts
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.plugins.objectives.mlm_sbo import BOUNDARY, MOST_WORDS, span_positions, with_boundaries
from finetune.task_types.pretraining.pieces import INSIDE, SPECIAL, STARTS, WORDS
from finetune.task_types.pretraining.task import TextTask

TASK = TextTask(name="text", read=None, objective="mlm-sbo")  # type: ignore[arg-type]
ROWS = documents(30, lines=(2, 6))


def test_the_labels_of_two_spans_by_hand() -> None:
    ids = np.array([2, 10, 11, 12, 13, 14, 15, 16, 3])
    feature = with_boundaries(Feature(row=0, input_ids=ids, reads=[2, 3, 6], label={WORDS: ids[[2, 3, 6]]}))
    assert list(feature.reads) == [1, 2, 3, 4, 5, 6, 7]  # type: ignore[arg-type]
    assert feature.label[WORDS].tolist() == [IGNORED, 11, 12, IGNORED, IGNORED, 15, IGNORED]
    expected = [[11, 0, 3, 0], [12, 0, 3, 1], [15, 4, 6, 0]]  # the id, the places of its span's ends in reads, its own
    assert feature.label[BOUNDARY].tolist() == expected
    assert label_counts([feature]) == {WORDS: 3, BOUNDARY: 3}


def test_a_token_far_from_the_start_and_a_span_at_an_end_have_no_label() -> None:
    ids = np.arange(30)
    long = with_boundaries(Feature(row=0, input_ids=ids, reads=np.arange(3, 26), label={WORDS: ids[3:26]}))
    assert np.flatnonzero(long.label[BOUNDARY][:, 0] == IGNORED).tolist() == [20, 21, 22]
    first = with_boundaries(Feature(row=0, input_ids=ids, reads=np.array([0, 1]), label={WORDS: ids[:2]}))
    assert set(first.label[BOUNDARY][:, 0].tolist()) == {IGNORED} and list(first.reads) == [0, 1, 2]  # type: ignore[arg-type]
    none = with_boundaries(Feature(row=0, input_ids=ids, reads=np.array([], int), label={WORDS: ids[:0]}))
    assert len(none.reads) == 0 and none.label[BOUNDARY].shape == (0, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.15, 0.4])
def test_spans_are_whole_words_apart_from_each_other(share: float) -> None:
    draw, counts, lengths = np.random.default_rng(0), list[float](), list[int]()
    for _ in range(300):
        units = np.where(draw.random(90) < 0.7, STARTS, INSIDE).astype(np.int8)
        units[[0, -1, 40]] = SPECIAL
        units[[1, 41]] = STARTS
        chosen = np.zeros(90, bool)
        chosen[span_positions(units, share, draw)] = True
        assert not chosen[units == SPECIAL].any()
        assert (chosen[1:] == chosen[:-1])[units[1:] == INSIDE].all()
        runs = np.split(np.flatnonzero(chosen), np.flatnonzero(np.diff(np.flatnonzero(chosen)) > 1) + 1)
        lengths += [int(np.count_nonzero(units[run] == STARTS)) for run in runs]
        counts.append(chosen.sum() / 87)
    assert np.mean(counts) == pytest.approx(share, rel=0.06)
    assert max(lengths) == MOST_WORDS and 2 < np.mean(lengths) < 4


def test_all_tokens_of_a_span_are_masked_random_or_stay(tiny_bert: Path) -> None:
    pieces, mask = piece_features(ROWS, tiny_bert, size=60)[:], load_tokenizer(tiny_bert).mask_token_id
    kinds = []
    for seed in range(20):
        for before, after in zip(pieces, TASK.draw(pieces, np.random.default_rng(seed)), strict=True):
            was, now = np.asarray(before.input_ids), np.asarray(after.input_ids)
            own = np.asarray(after.reads)[after.label[WORDS] != IGNORED]
            assert after.label[WORDS][after.label[WORDS] != IGNORED].tolist() == was[own].tolist()
            for run in np.split(own, np.flatnonzero(np.diff(own) > 1) + 1):
                kind = np.unique(np.where(now[run] == mask, 0, np.where(now[run] == was[run], 2, 1)))
                kinds.append(kind[0] if len(kind) == 1 else 1)  # a random token may be the one that was there
    assert np.bincount(kinds) / len(kinds) == pytest.approx([0.8, 0.1, 0.1], abs=0.04)


def test_the_loss_is_that_of_a_plain_computation_from_both_ends(tiny_bert: Path) -> None:
    recipe = Recipe(task="any", seed=0, train=Train(dropout=0.0))
    model = build_model(tiny_bert, TASK.head, recipe, device=CPU)[0].train()
    features = TASK.draw(piece_features(ROWS, tiny_bert, size=40)[:5], np.random.default_rng(1))
    batch, head, expected = collate(features, pad_id=0), model.head, 0.0
    with torch.no_grad():
        losses = head.losses(model(*batch.inputs()), batch.labels)
        for feature in features:
            ids, own = np.asarray(feature.input_ids), np.asarray(feature.reads)[feature.label[WORDS] != IGNORED]
            hidden = model.backbone.encoder(input_ids=torch.tensor(ids, dtype=torch.long)[None]).last_hidden_state[0]
            targets = feature.label[WORDS][feature.label[WORDS] != IGNORED]
            for position, target in zip(own, targets, strict=True):
                first, last = position, position
                while first - 1 in own:
                    first -= 1
                while last + 1 in own:
                    last += 1
                place = head.boundary.places.weight[position - first]
                vector = torch.cat([hidden[first - 1], hidden[last + 1], place])
                for layer, norm in (("first", "first_norm"), ("second", "second_norm")):
                    vector = torch.nn.functional.gelu(getattr(head.boundary, layer)(vector))
                    vector = getattr(head.boundary, norm)(vector)
                logits = vector @ model.backbone.encoder.embeddings.word_embeddings.weight.T + head.bias
                expected -= float(logits.log_softmax(-1)[int(target)])
    assert float(losses[BOUNDARY]) == pytest.approx(expected, rel=1e-4)
    assert set(losses) == {WORDS, BOUNDARY}


def test_what_predicts_from_the_ends_is_not_saved(tiny_bert: Path, tmp_path: Path) -> None:
    model, _ = build_model(tiny_bert, TASK.head, Recipe(task="any", seed=0), device=CPU)
    save_checkpoint(model.eval(), tmp_path, AutoTokenizer.from_pretrained(tiny_bert), {"max_length": 32})
    _, info = AutoModelForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and all(".pooler." in name for name in info["unexpected_keys"])
    features = TASK.encode(ROWS, load_tokenizer(tiny_bert), 40)
    batch, again = collate(features, pad_id=0), load_trained(tmp_path, TASK.head).eval()
    with torch.no_grad():
        assert torch.allclose(again(*batch.inputs()), model(*batch.inputs()), atol=1e-5)
    assert not hasattr(again.head, "boundary")


def test_the_unit_of_masks_cannot_be_set() -> None:
    with pytest.raises(UserError, match="objective=mlm-sbo masks spans"):
        TextTask(name="text", read=None, objective="mlm-sbo", mask="words")  # type: ignore[arg-type]
