"""Replaced tokens: what is sampled, both losses, what is saved and how dev is scored."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from support.corpora import documents, piece_features
from support.training import CPU
from torch.nn import functional
from transformers import AutoTokenizer, ElectraForPreTraining

from finetune.data.documents import Document
from finetune.errors import UserError
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.feature import Feature, label_counts
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import load_config, load_trained, save_checkpoint, saved_encoder
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.plugins.objectives.rtd import (
    READ,
    REPLACED,
    WEIGHT,
    ReplacedTokens,
    exchanged,
    sampled,
    with_samples,
)
from finetune.task_types.pretraining.dev import chosen_words, words_of
from finetune.task_types.pretraining.pieces import WORDS
from finetune.task_types.pretraining.task import TextTask

TASK = TextTask(name="text", read=None, objective="rtd")  # type: ignore[arg-type]
ROWS = documents(30, lines=(2, 6))


def built(folder: Path) -> EncoderWithHead:
    recipe = Recipe(task="any", seed=0, train=Train(dropout=0.0))
    return build_model(folder, TASK.head, recipe, device=CPU)[0]


def drawn(folder: Path, seed: int = 3) -> tuple[Batch, list[Feature], list[Feature]]:
    pieces = piece_features(ROWS, folder, size=40)[:6]
    features = list(TASK.draw(pieces, np.random.default_rng(seed)))
    return collate(features, pad_id=load_tokenizer(folder).pad_token_id), features, list(pieces)


def test_a_draw_has_masks_alone_and_all_tokens_as_the_label(tiny_bert: Path) -> None:
    _, features, before = drawn(tiny_bert)
    mask = load_tokenizer(tiny_bert).mask_token_id
    for one, was in zip(features, before, strict=True):
        assert np.flatnonzero(np.asarray(one.input_ids) == mask).tolist() == list(one.reads)  # type: ignore[arg-type]
        assert np.array_equal(one.label[REPLACED], was.input_ids)
        assert np.array_equal(one.label[WORDS], np.asarray(was.input_ids)[one.reads])


def test_tokens_are_sampled_as_often_as_the_softmax_says() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([2.0, -1.0, 0.5, -30.0, 1.0]).repeat(20_000, 1)
    found = Counter(sampled(logits).tolist())
    expected = logits[0].softmax(-1).double().numpy() * 20_000
    assert not found[3]
    assert chisquare([found[n] for n in (0, 1, 2, 4)], expected[[0, 1, 2, 4]], sum_check=False).pvalue > 1e-3


def test_samples_are_put_at_their_positions_and_nowhere_else() -> None:
    ids, positions = torch.arange(10).view(2, 5), torch.tensor([[1, 3], [4, -1]])
    assert with_samples(ids, positions, torch.tensor([[70, 71], [72, 73]])).tolist() == [
        [0, 70, 2, 71, 4],
        [5, 6, 7, 8, 72],
    ]


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_electra"])
def test_both_losses_equal_a_plain_computation(name: str, request: pytest.FixtureRequest) -> None:
    """Feature by feature and without padding, from the modules of transformers and what was sampled."""
    folder = request.getfixturevalue(name)
    model = built(folder).train()
    batch, features, _ = drawn(folder)
    with torch.no_grad():
        logits = model(*batch.inputs())
        losses = model.head.losses(logits, batch.labels)
        encoder, head = model.backbone.encoder, model.head
        generator, words, tokens, seen = head.generator, 0.0, 0.0, Counter[bool]()
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
    assert float(losses[WORDS]) == pytest.approx(words, rel=1e-4)
    assert float(losses[REPLACED]) == pytest.approx(WEIGHT * tokens, rel=1e-4)
    assert label_counts(features) == {
        WORDS: sum(len(f.label[WORDS]) for f in features),
        REPLACED: sum(map(len, features)),
    }


def test_no_gradient_passes_through_the_samples_and_the_embeddings_are_one(tiny_bert: Path) -> None:
    model = built(tiny_bert).train()
    batch, _, _ = drawn(tiny_bert)
    model.head.losses(model(*batch.inputs()), batch.labels)[REPLACED].backward()
    assert all(p.grad is None for p in model.head.generator.parameters())
    assert model.head.output.weight.grad is not None
    names = [name for name, _ in model.named_parameters() if "word_embeddings" in name]
    assert names == ["backbone.encoder.embeddings.word_embeddings.weight"]
    generator = model.head.generator.encoder.config
    assert (generator.hidden_size, generator.num_hidden_layers) == (8, 2)  # a quarter of 32


def test_an_electra_loads_in_transformers_and_a_bert_in_our_own_format(
    tiny_electra: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    for folder, own in ((tiny_electra, False), (tiny_bert, True)):
        model, saved = built(folder).eval(), tmp_path / folder.name
        torch.nn.init.normal_(model.head.output.weight)
        save_checkpoint(model, saved, AutoTokenizer.from_pretrained(folder), {"max_length": 32})
        assert (saved / OWN_WEIGHTS).is_file() == own
        features = TASK.encode(ROWS, load_tokenizer(folder), 32)
        batch, again = collate(features, pad_id=0), load_trained(saved, TASK.head).eval()
        assert not hasattr(again.head, "generator")
        with torch.no_grad():
            logits = model(*batch.inputs())
            assert torch.allclose(again(*batch.inputs()), logits, atol=1e-5)
            if not own:
                theirs, info = ElectraForPreTraining.from_pretrained(saved, output_loading_info=True)
                assert not info["missing_keys"] and not info["unexpected_keys"]
                scores = theirs(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
                reads = features[0].reads
                assert torch.allclose(logits[0, : len(reads), 0], scores[0, reads], atol=1e-5)  # type: ignore[arg-type, index]
        encoder, new = saved_encoder(saved, load_config(saved))
        assert not [name for name in new if "pooler" not in name]
        assert torch.equal(
            encoder.embeddings.word_embeddings.weight, model.backbone.encoder.embeddings.word_embeddings.weight
        )


def test_dev_exchanges_words_by_the_text_alone_and_they_stay_words() -> None:
    korean = Document("k", ("나는 오늘 학교에 갔다 漢字 abc漢def 그리고 밥을 먹었다", "x ́y 山 川 the The"))
    for row in [*ROWS, korean]:
        changed, numbers = exchanged(row)
        before, after = words_of(row), words_of(changed)
        assert len(before) == len(after) and numbers
        for number, (was, now) in enumerate(zip(before, after, strict=True)):
            assert (was.text != now.text) == (number in numbers)
            assert now.text in {word.text for word in before}
        assert {before[number] for number in numbers} <= set(chosen_words(row))
    assert exchanged(Document("1", ("same Same same",)))[1] == ()
    (number,) = exchanged(Document("1", ("sat cat cat cat cat",)))[1]
    assert exchanged(Document("1", ("sat cat cat cat cat",)))[0].lines == (
        " ".join(["cat" if number == 0 else "sat", *("sat" if number == n else "cat" for n in range(1, 5))]),
    )


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_roberta", "tiny_albert"])
def test_dev_names_words_by_their_logits(name: str, request: pytest.FixtureRequest) -> None:
    features = TASK.encode(ROWS, load_tokenizer(request.getfixturevalue(name)), 24)
    assert TASK.metric_names == ("perplexity", "probability", "replaced words")
    assert TASK.score(TASK.labels_of(ROWS), ROWS)["replaced words"] == 1.0
    for sign, score in ((1.0, 1.0), (-1.0, 0.0)):
        logits = [sign * np.where(feature.label[REPLACED] == 1, 50.0, -50.0)[:, np.newaxis] for feature in features]
        answers = TASK.decode(logits, features, ROWS)
        assert TASK.score(answers, ROWS)["replaced words"] == score
        assert (TASK.score(answers, ROWS)["perplexity"] < 1.001) == (score == 1.0)
        assert all(TASK.fits(answer.value, row) for answer, row in zip(answers, ROWS, strict=True))


def test_the_nats_of_equal_logits_are_of_the_words_that_were_not_exchanged(tiny_bert: Path) -> None:
    row = ROWS[0]
    features = TASK.encode([row], load_tokenizer(tiny_bert), 128)
    answer = ReplacedTokens().decode([np.zeros((len(f.label[REPLACED]), 1)) for f in features], features, [row])[0]
    others = len(words_of(row)) - len(exchanged(row)[1])
    assert answer["nats"] == pytest.approx([np.log(1 + others)] * len(answer["nats"]), abs=1e-5)


def test_a_type_whose_embeddings_cannot_be_shared_is_named(tiny_roberta: Path) -> None:
    with pytest.raises(UserError, match="type 'roberta' have no generator for objective=rtd here"):
        built(tiny_roberta)
