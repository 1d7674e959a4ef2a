"""Replaced tokens: what is sampled, both losses, what is saved and how dev is scored."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from support.corpora import documents, piece_features
from support.training import CPU
from transformers import AutoTokenizer, ElectraForPreTraining

from finetune.data.documents import Document
from finetune.errors import UserError
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.feature import Feature, label_counts
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.loading import load_trained
from finetune.models.model import EncoderWithHead
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.pretraining.chosen_words import SHARE_OF_WORDS, chosen_words, words_of
from finetune.task_types.pretraining.label_names import REPLACED, WORDS
from finetune.task_types.pretraining.replaced_head import READ, WEIGHT, sampled, with_samples
from finetune.task_types.pretraining.replaced_parts import exchanged
from finetune.task_types.pretraining.task import TextTask

ROWS = documents(30, lines=(2, 6))


def task(**options: Any) -> TextTask:
    return TextTask(name="text", read=lambda *_: None, objective="rtd", **options)  # type: ignore[arg-type, return-value]


def built(folder: Path, **options: Any) -> EncoderWithHead:
    recipe = Recipe(task="any", seed=0, train=Train(dropout=0.0))
    return build_model(folder, task(**options).head, recipe, device=CPU)[0]


def drawn(folder: Path, seed: int = 3) -> tuple[Batch, list[Feature], list[Feature]]:
    pieces = piece_features(ROWS, folder, size=40)[:6]
    features = list(task().stream.draw(pieces, np.random.default_rng(seed)))
    return collate(features, pad_id=load_tokenizer(folder).pad_token_id), features, list(pieces)


def test_a_draw_has_masks_alone_numbers_for_sampling_and_all_tokens_as_the_label(tiny_bert: Path) -> None:
    batch, features, before = drawn(tiny_bert)
    mask = load_tokenizer(tiny_bert).mask_token_id
    for one, was in zip(features, before, strict=True):
        assert (np.asarray(one.input_ids)[one.reads] == mask).all()
        assert one.draws is not None and len(one.draws) == len(one.reads) and ((one.draws >= 0) & (one.draws < 1)).all()
        assert np.array_equal(one.label[REPLACED], was.input_ids)
        assert np.array_equal(one.label[WORDS], np.asarray(was.input_ids)[one.reads])
    assert batch.draws is not None and batch.draws.shape == batch.positions.shape  # type: ignore[union-attr]
    again, other = drawn(tiny_bert)[0], drawn(tiny_bert, seed=4)[0]
    assert torch.equal(again.draws, batch.draws) and other.draws is not None  # type: ignore[arg-type]
    assert other.draws.shape != batch.draws.shape or not torch.equal(other.draws, batch.draws)


def test_tokens_are_sampled_as_often_as_the_softmax_says() -> None:
    logits = torch.tensor([2.0, -1.0, 0.5, -30.0, 1.0]).repeat(20_000, 1)
    draws = torch.from_numpy(np.random.default_rng(0).random(20_000))
    found = Counter(sampled(logits, draws).tolist())
    expected = logits[0].softmax(-1).double().numpy() * 20_000
    assert not found[3]
    assert chisquare([found[n] for n in (0, 1, 2, 4)], expected[[0, 1, 2, 4]], sum_check=False).pvalue > 1e-3
    plain = [int(np.searchsorted(np.cumsum(logits[0].softmax(-1).double().numpy()), one)) for one in draws[:200]]
    assert sampled(logits[:200], draws[:200]).tolist() == plain
    assert sampled(logits[:2], torch.tensor([0.0, 1.0 - 1e-9], dtype=torch.float64)).tolist() == [0, 4]


def test_samples_are_put_at_their_positions_and_nowhere_else() -> None:
    ids, positions = torch.arange(10).view(2, 5), torch.tensor([[1, 3], [4, -1]])
    assert with_samples(ids, positions, torch.tensor([[70, 71], [72, 73]])).tolist() == [
        [0, 70, 2, 71, 4],
        [5, 6, 7, 8, 72],
    ]


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_electra"])
def test_both_losses_equal_a_plain_computation(name: str, request: pytest.FixtureRequest) -> None:
    """Feature by feature and without padding, by numpy from the logits that transformers' own modules give."""
    folder = request.getfixturevalue(name)
    model = built(folder).train()
    batch, features, _ = drawn(folder)
    with torch.no_grad():
        logits = model(*batch.inputs())
        found = model.head.losses(logits, batch.labels)
        generator, encoder, head = model.head.generator, model.backbone.encoder, model.head
        words = tokens = 0.0
        seen = Counter[bool]()
        for row, one in enumerate(features):
            ids = torch.tensor(np.asarray(one.input_ids), dtype=torch.long)[None]
            hidden = generator.encoder(input_ids=ids).last_hidden_state[0, one.reads]
            vectors = torch.nn.functional.layer_norm(
                torch.nn.functional.gelu(generator.dense(hidden)), (vectors_width(model),),
                generator.norm.weight, generator.norm.bias, generator.norm.eps,
            )  # fmt: skip
            shares = (vectors @ encoder.embeddings.word_embeddings.weight.T + generator.bias).softmax(-1).double()
            words -= float(np.log(shares.numpy()[range(len(one.reads)), one.label[WORDS]]).sum())
            chosen = [int(np.searchsorted(np.cumsum(s), d)) for s, d in zip(shares.numpy(), one.draws, strict=True)]  # type: ignore[arg-type]
            ids[0, one.reads] = torch.tensor(chosen)
            assert torch.equal(logits[READ][row, : len(one)], ids[0])
            scores = head.output(head.activation(head.dense(encoder(input_ids=ids).last_hidden_state)))[0, :, 0]
            wrong = ids[0].numpy() != one.label[REPLACED]
            seen.update(wrong.tolist())
            chance = scores.double().sigmoid().numpy()
            tokens -= float(np.log(np.where(wrong, chance, 1 - chance)).sum())
    assert seen[True] and seen[False]
    assert float(found[WORDS]) == pytest.approx(words, rel=1e-4)
    assert float(found[REPLACED]) == pytest.approx(WEIGHT * tokens, rel=1e-4)
    assert label_counts(features) == {WORDS: sum(len(f.reads) for f in features), REPLACED: sum(map(len, features))}


def vectors_width(model: EncoderWithHead) -> int:
    return int(model.backbone.encoder.embeddings.word_embeddings.weight.shape[1])


def test_no_gradient_passes_through_the_samples_and_the_embeddings_are_one(tiny_bert: Path) -> None:
    model = built(tiny_bert).train()
    batch, _, _ = drawn(tiny_bert)
    model.head.losses(model(*batch.inputs()), batch.labels)[REPLACED].backward()
    assert all(p.grad is None for p in model.head.generator.parameters())
    assert model.head.output.weight.grad is not None
    names = [name for name, _ in model.named_parameters() if "word_embeddings" in name]
    assert names == ["backbone.encoder.embeddings.word_embeddings.weight"]


def test_the_generator_is_as_wide_as_asked_for_and_not_larger_than_the_model(tiny_bert: Path) -> None:
    widths = {size: built(tiny_bert, generator_size=size).head.generator.encoder.config for size in (0.25, 0.5, 1.0)}
    assert {size: config.hidden_size for size, config in widths.items()} == {0.25: 8, 0.5: 16, 1.0: 32}
    assert {config.num_hidden_layers for config in widths.values()} == {2}


def test_an_electra_loads_in_transformers_and_a_bert_in_our_own_format(
    tiny_electra: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    for folder, own in ((tiny_electra, False), (tiny_bert, True)):
        model, saved = built(folder).eval(), tmp_path / folder.name
        torch.nn.init.normal_(model.head.output.weight)
        save_checkpoint(model, saved, AutoTokenizer.from_pretrained(folder), {"max_length": 32})
        assert (saved / OWN_WEIGHTS).is_file() == own
        batch, features, _ = drawn(folder)
        again = load_trained(saved, task().head).eval()
        assert not hasattr(again.head, "generator")
        with torch.no_grad():
            found = model(*batch.inputs())
            assert torch.allclose(again(*batch.inputs()), found, atol=1e-5)
            if not own:
                theirs, info = ElectraForPreTraining.from_pretrained(saved, output_loading_info=True)
                assert not info["missing_keys"] and not info["unexpected_keys"]
                scores = theirs(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
                assert torch.allclose(found[0, : len(features[0].reads), 0], scores[0, features[0].reads], atol=1e-5)
        built_again = build_model(saved, task().head, Recipe(task="any", seed=1), device=CPU)[0]
        same = torch.equal(built_again.head.output.weight, model.head.output.weight)
        assert same != own  # the head of our own format is for the task that was trained


def test_dev_exchanges_words_by_the_text_alone_and_they_stay_words() -> None:
    korean = Document("k", ("나는 오늘 학교에 갔다 漢字 abc漢def 그리고 밥을 먹었다", "x ́y 山 川 the The"))
    counts = Counter[str]()
    for row in [*ROWS, korean]:
        changed, numbers = exchanged(row)
        before, after = words_of(row), words_of(changed)
        assert len(before) == len(after)
        for number, (was, now) in enumerate(zip(before, after, strict=True)):
            assert (was.text != now.text) == (number in numbers)
            assert now.text in {word.text for word in before}
        assert {before[number] for number in numbers} <= set(chosen_words(row))
        counts.update(exchanged=len(numbers), words=len(before))
    assert counts["exchanged"] / counts["words"] == pytest.approx(SHARE_OF_WORDS, abs=0.03)
    assert exchanged(Document("1", ("same Same same",)))[1] == ()


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_roberta", "tiny_albert"])
def test_dev_finds_each_word_once_and_its_score_is_the_share_that_was_found(
    name: str, request: pytest.FixtureRequest
) -> None:
    ours, tokenizer = task(), load_tokenizer(request.getfixturevalue(name))
    features = ours.codec.encode(ROWS, tokenizer, 24)
    assert ours.metric_names == ("replaced words",)
    for sign, score in ((1.0, 1.0), (-1.0, 0.0)):
        logits = []
        for one in features:
            wrong = set(exchanged(ROWS[one.row])[1])
            named = [any(n in wrong for n in range(a, b + 1)) for a, b in one.note.words.tolist()]
            logits.append(sign * np.where(named, 1.0, -1.0)[:, np.newaxis])
        answers = ours.codec.decode(logits, features, ROWS)
        assert ours.scoring.score(answers, ROWS) == {"replaced words": score}
        assert all(ours.fits(answer.value, row) for answer, row in zip(answers, ROWS, strict=True))
    assert ours.scoring.score(ours.scoring.labels(ROWS), ROWS) == {"replaced words": 1.0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"replace": (1.0, 0.0, 0.0)}, ("objective=rtd replaces", "Leave replace out")),
        ({"objective": "mlm", "generator_size": 0.5}, ("objective=mlm has no generator", "Leave generator_size out")),
    ],
)
def test_settings_without_a_use(options: dict[str, Any], words: tuple[str, str]) -> None:
    with pytest.raises(UserError) as found:
        TextTask(**{"name": "text", "read": lambda *_: None, "objective": "rtd"} | options)
    assert words[0] in found.value.what and words[1] in found.value.way_out


def test_a_type_whose_embeddings_cannot_be_shared_is_named(tiny_roberta: Path) -> None:
    with pytest.raises(UserError, match="type 'roberta' have no generator for objective=rtd here"):
        build_model(tiny_roberta, task().head, Recipe(task="any", seed=0), device=CPU)
