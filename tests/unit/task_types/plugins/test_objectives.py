"""Objectives of pre-training: what is drawn, the losses of plain computations, and what is scored on dev."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from support.corpora import documents, piece_features
from support.training import CPU
from torch.nn import functional

from finetune.data.documents import Document
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.feature import IGNORED
from finetune.models.head import EncoderWithHead
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.plugins.objectives.mlm_sbo import BOUNDARY, span_positions
from finetune.task_types.plugins.objectives.mlm_sop import IN_ORDER, IS_SWAPPED, with_sentence_order
from finetune.task_types.plugins.objectives.rtd import READ, REPLACED, WEIGHT, exchanged
from finetune.task_types.plugins.objectives.skip_gram import SkipGram, SkipGramHead
from finetune.task_types.pretraining.dev import chosen_words, words_of
from finetune.task_types.pretraining.pieces import INSIDE, NEXT, SPECIAL, STARTS, WORDS
from finetune.task_types.pretraining.task import TextTask

ROWS = documents(30, lines=(2, 6))
RTD = TextTask(name="text", read=None, objective="rtd")  # type: ignore[arg-type]
SBO = TextTask(name="text", read=None, objective="mlm-sbo")  # type: ignore[arg-type]


def built(folder: Path, task: TextTask) -> EncoderWithHead:
    recipe = Recipe(task="any", seed=0, train=Train(dropout=0.0))
    return build_model(folder, task.head, recipe, device=CPU)[0].train()


def test_spans_are_whole_words_apart_from_each_other() -> None:
    draw, counts, lengths = np.random.default_rng(0), list[float](), list[int]()
    for _ in range(300):
        units = np.where(draw.random(90) < 0.7, STARTS, INSIDE).astype(np.int8)
        units[[0, -1, 40]] = SPECIAL
        units[[1, 41]] = STARTS
        chosen = np.zeros(90, bool)
        chosen[span_positions(units, 0.15, draw)] = True
        assert not chosen[units == SPECIAL].any()
        assert (chosen[1:] == chosen[:-1])[units[1:] == INSIDE].all()
        runs = np.split(np.flatnonzero(chosen), np.flatnonzero(np.diff(np.flatnonzero(chosen)) > 1) + 1)
        lengths += [int(np.count_nonzero(units[run] == STARTS)) for run in runs]
        counts.append(chosen.sum() / 87)
    assert np.mean(counts) == pytest.approx(0.15, rel=0.06)
    assert max(lengths) == 10 and 2 < np.mean(lengths) < 4


def test_the_loss_of_boundaries_is_that_of_a_plain_computation_from_both_ends(tiny_bert: Path) -> None:
    model = built(tiny_bert, SBO)
    pieces = piece_features(ROWS, tiny_bert, size=40)[:5]
    features = SBO.draw(pieces, np.random.default_rng(1))
    batch, head, expected = collate(features, pad_id=0), model.head, 0.0
    with torch.no_grad():
        losses = head.losses(model(*batch.inputs()), batch.labels)
        for feature in features:
            ids, own = np.asarray(feature.input_ids), np.asarray(feature.reads)[feature.label[WORDS] != IGNORED]
            hidden = model.backbone.encoder(input_ids=torch.tensor(ids, dtype=torch.long)[None]).last_hidden_state[0]
            for position, target in zip(own, feature.label[WORDS][feature.label[WORDS] != IGNORED], strict=True):
                first, last = position, position
                while first - 1 in own:
                    first -= 1
                while last + 1 in own:
                    last += 1
                place = head.boundary.places.weight[position - first]
                vector = torch.cat([hidden[first - 1], hidden[last + 1], place])
                for layer, norm in (("first", "first_norm"), ("second", "second_norm")):
                    vector = functional.gelu(getattr(head.boundary, layer)(vector))
                    vector = getattr(head.boundary, norm)(vector)
                logits = vector @ model.backbone.encoder.embeddings.word_embeddings.weight.T + head.bias
                expected -= float(logits.log_softmax(-1)[int(target)])
    assert {*losses} == {WORDS, BOUNDARY}
    assert float(losses[BOUNDARY]) == pytest.approx(expected, rel=1e-4)
    with pytest.raises(UserError, match="objective=mlm-sbo masks spans"):
        TextTask(name="text", read=None, objective="mlm-sbo", mask="words")  # type: ignore[arg-type]


def test_texts_follow_each_other_or_are_swapped(tiny_bert: Path) -> None:
    document, tokenizer = Document("1", ("the cat sat", "a dog ran", "she saw")), load_tokenizer(tiny_bert)
    features, seen = piece_features([document], tiny_bert, size=20)[:], Counter[tuple[str, int]]()
    for seed in range(200):
        (pair,) = with_sentence_order(features, np.random.default_rng(seed))
        seen[tokenizer.decode(pair.input_ids), pair.label[NEXT]] += 1
    assert {*seen} == {
        ("[CLS] the cat sat [SEP] a dog ran she saw [SEP]", IN_ORDER),
        ("[CLS] a dog ran she saw [SEP] the cat sat [SEP]", IS_SWAPPED),
        ("[CLS] the cat sat a dog ran [SEP] she saw [SEP]", IN_ORDER),
        ("[CLS] she saw [SEP] the cat sat a dog ran [SEP]", IS_SWAPPED),
    }
    assert chisquare([*seen.values()]).pvalue > 1e-3
    (one,) = piece_features([Document("1", ("the cat sat on a house",))], tiny_bert, size=20)[:]
    (pair,) = with_sentence_order([one], np.random.default_rng(0))
    assert (tokenizer.decode(pair.input_ids), pair.label[NEXT]) == ("[CLS] the cat sat [SEP] on a house [SEP]", IGNORED)


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_electra"])
def test_the_losses_of_replaced_tokens_equal_a_plain_computation(name: str, request: pytest.FixtureRequest) -> None:
    """Feature by feature and without padding, from the modules of transformers and what was sampled."""
    folder = request.getfixturevalue(name)
    model, tokenizer = built(folder, RTD), load_tokenizer(folder)
    pieces = piece_features(ROWS, folder, size=40)[:6]
    features = list(RTD.draw(pieces, np.random.default_rng(3)))
    for one, was in zip(features, pieces, strict=True):
        masked = np.flatnonzero(np.asarray(one.input_ids) == tokenizer.mask_token_id)
        assert masked.tolist() == list(one.reads)  # type: ignore[arg-type]
        assert np.array_equal(one.label[REPLACED], was.input_ids)
    batch = collate(features, pad_id=tokenizer.pad_token_id)
    logits = model(*batch.inputs())
    losses = model.head.losses(logits, batch.labels)
    encoder, head, generator = model.backbone.encoder, model.head, model.head.generator
    words, tokens, seen = 0.0, 0.0, Counter[bool]()
    with torch.no_grad():
        for row, one in enumerate(features):
            ids = torch.tensor(np.asarray(one.input_ids), dtype=torch.long)[None]
            hidden = generator.encoder(input_ids=ids).last_hidden_state[0, one.reads]
            vectors = generator.norm(functional.gelu(generator.dense(hidden)))
            chances = (vectors @ encoder.embeddings.word_embeddings.weight.T + generator.bias).log_softmax(-1)
            words -= float(chances[range(len(one.label[WORDS])), one.label[WORDS]].sum())
            read = logits[READ][row, : len(one)]
            others = np.setdiff1d(np.arange(len(one)), one.reads)  # type: ignore[arg-type]
            assert read[others].tolist() == np.asarray(one.input_ids)[others].tolist()
            scores = head.output(head.activation(head.dense(encoder(input_ids=read[None]).last_hidden_state)))[0, :, 0]
            wrong = read.numpy() != one.label[REPLACED]
            seen.update(wrong.tolist())
            chance = scores.double().sigmoid().numpy()
            tokens -= float(np.log(np.where(wrong, chance, 1 - chance)).sum())
    assert seen[True] and seen[False]
    assert float(losses[WORDS].detach()) == pytest.approx(words, rel=1e-4)
    assert float(losses[REPLACED].detach()) == pytest.approx(WEIGHT * tokens, rel=1e-4)
    losses[REPLACED].backward()
    assert all(p.grad is None for p in generator.parameters())  # no gradient passes through the samples


def test_dev_exchanges_words_by_the_text_alone_and_names_them_by_their_logits(tiny_bert: Path) -> None:
    for row in [*ROWS, Document("k", ("나는 오늘 학교에 갔다 漢字 abc漢def 그리고", "x ́y 山 川 the The"))]:
        changed, numbers = exchanged(row)
        before, after = words_of(row), words_of(changed)
        assert [number for number, (a, b) in enumerate(zip(before, after, strict=True)) if a.text != b.text] == [
            *numbers
        ]
        assert numbers and {word.text for word in after} <= {word.text for word in before}
        assert {before[number] for number in numbers} <= {*chosen_words(row)}
    assert exchanged(Document("1", ("same Same same",)))[1] == ()
    features = RTD.encode(ROWS, load_tokenizer(tiny_bert), 24)
    assert RTD.metric_names == ("perplexity", "probability", "replaced words")
    for sign, score in ((1.0, 1.0), (-1.0, 0.0)):
        logits = [sign * np.where(feature.label[REPLACED] == 1, 50.0, -50.0)[:, np.newaxis] for feature in features]
        answers = RTD.decode(logits, features, ROWS)
        assert RTD.score(answers, ROWS)["replaced words"] == score
        assert (RTD.score(answers, ROWS)["perplexity"] < 1.001) == (score == 1.0)


def test_near_tokens_are_of_the_same_text_and_nearer_ones_more_often(tiny_bert: Path) -> None:
    pieces, distances = piece_features(ROWS, tiny_bert, size=40)[:6], list[int]()
    for seed in range(20):
        for feature in SkipGram().draw(pieces, np.random.default_rng(seed), share=0.15, unit="tokens"):
            ids = np.asarray(feature.input_ids)
            assert len(feature.reads) == len(feature.label[WORDS]) == len(ids) - 2  # type: ignore[arg-type]
            for place, wanted in zip(feature.reads, feature.label[WORDS][:, 0], strict=True):  # type: ignore[arg-type]
                if wanted != IGNORED:
                    at = np.flatnonzero(ids[1:-1] == wanted) + 1
                    distances.append(min(abs(at[at != place] - place)))
    counts = np.bincount(distances)
    assert len(counts) == 6 and counts[1] > counts[3] > counts[5] > 0
    head = SkipGramHead.__new__(SkipGramHead)
    logits, labels = torch.randn(1, 2, 9), torch.tensor([[[3, 1, 8], [IGNORED, 0, 0]]])
    (loss,) = head.losses(logits, {WORDS: labels}).values()
    near, others = logits[0, 0, 3], logits[0, 0, [1, 8]]
    expected = -functional.logsigmoid(near) - functional.logsigmoid(-others).sum()
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
