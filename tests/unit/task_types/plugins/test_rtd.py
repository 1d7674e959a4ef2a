"""Replaced tokens: what is drawn, the loss, what is saved and how dev is scored."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from support.corpora import documents, piece_features
from support.training import CPU
from transformers import AutoTokenizer, ElectraForPreTraining

from finetune.data.documents import Document
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import load_config, load_trained, save_checkpoint, saved_encoder
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.plugins.objectives.rtd import (
    exchanged,
)
from finetune.task_types.pretraining.dev import chosen_words, words_of
from finetune.task_types.pretraining.pieces import WORDS
from finetune.task_types.pretraining.task import TextTask

TASK = TextTask(name="text", read=None, objective="rtd")  # type: ignore[arg-type]
ROWS = documents(30, lines=(2, 6))


def built(folder: Path) -> EncoderWithHead:
    recipe = Recipe(task="any", seed=0, train=Train(dropout=0.0))
    return build_model(folder, TASK.head, recipe, device=CPU)[0]


def test_a_share_of_the_tokens_is_replaced_as_often_as_tokens_occur(tiny_bert: Path) -> None:
    pieces, replaced, every, drawn = piece_features(ROWS, tiny_bert, size=40)[:], 0, 0, Counter[int]()
    for seed in range(20):
        for before, after in zip(pieces, TASK.draw(pieces, np.random.default_rng(seed)), strict=True):
            changed = np.asarray(after.input_ids) != np.asarray(before.input_ids)
            assert after.label[WORDS].tolist() == changed[after.reads].tolist() and len(after.reads) == len(before) - 2
            replaced, every = replaced + changed.sum(), every + len(after.reads)
            drawn.update(np.asarray(after.input_ids)[changed].tolist())
    there = Counter(np.concatenate([piece.input_ids[1:-1] for piece in pieces]).tolist())
    assert replaced / every == pytest.approx(0.15, abs=0.02) and {*drawn} <= {*there}
    assert np.corrcoef([drawn[token] for token in there], [*there.values()])[0, 1] > 0.9


def test_the_loss_is_of_all_tokens_of_the_text(tiny_bert: Path) -> None:
    features = TASK.draw(piece_features(ROWS, tiny_bert, size=40)[:5], np.random.default_rng(1))
    model, batch, expected = built(tiny_bert).train(), collate(features, pad_id=0), 0.0
    with torch.no_grad():
        (loss,) = model.head.losses(model(*batch.inputs()), batch.labels).values()
        for feature in features:
            alone = collate([feature], pad_id=0)
            chance = model(*alone.inputs())[0, :, 0].double().sigmoid().numpy()
            expected -= float(np.log(np.where(feature.label[WORDS] == 1, chance, 1 - chance)).sum())
    assert float(loss) == pytest.approx(expected, rel=1e-4)


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
        logits = [sign * np.where(feature.label[WORDS] == 1, 50.0, -50.0)[:, np.newaxis] for feature in features]
        answers = TASK.decode(logits, features, ROWS)
        assert TASK.score(answers, ROWS)["replaced words"] == score
        assert (TASK.score(answers, ROWS)["perplexity"] < 1.001) == (score == 1.0)
        assert all(TASK.fits(answer.value, row) for answer, row in zip(answers, ROWS, strict=True))
