"""The words of dev that are scored: a function of the text alone, whatever the tokenizer, with the model's nats."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from support.corpora import TOKENIZERS, documents
from support.toys import text_task
from support.training import CPU
from tokenizers import normalizers
from transformers import AutoTokenizer, BertForMaskedLM

from finetune.data.documents import Document
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe
from finetune.task_types.pretraining import head
from finetune.task_types.pretraining.dev import chosen_words, pairs_of, random_bits, word_answers, words_of

ROWS = documents(12, lines=(1, 6))
MIXED = Document(
    "1",
    (
        "Don't stop: it's 3.14 km, naïve café 2,000!",
        "한국어 단어는 조사와 붙는다. हिन्दी में शब्द हैं",
        "我爱北京 and カタカナ x_y -- ... \u200b cafe\u0301",
    ),
)


def test_the_chosen_words_of_a_text_stay_the_same_for_ever() -> None:
    """Scores of earlier runs are of these words: this test may not be changed."""
    mixed = Document("1", (*MIXED.lines[:2], "我爱北京 and カタカナ x_y"))
    chosen = [(word.line, word.start, word.text) for word in chosen_words(mixed)]
    assert chosen == [(0, 37, "2"), (0, 39, "000"), (1, 0, "한국어"), (1, 8, "조사와")]
    bits = [14446943667944521463, 1503260051432037200, 23216385978059534]
    assert [random_bits(mixed, number) for number in range(3)] == bits
    assert pairs_of(mixed) == [(1, False), (2, True)]
    for document in documents(60, lines=(1, 9)):
        words, chosen_here = words_of(document), chosen_words(document)
        assert len(chosen_here) == max(1, round(0.15 * len(words)))
        assert sorted(chosen_here, key=words.index) == list(chosen_here)
        assert chosen_here == chosen_words(Document("another id", document.lines))
    assert chosen_words(Document("1", ("...",))) == ()


@pytest.mark.parametrize("length", [10, 64])
@pytest.mark.parametrize("objective", ["mlm", "ltr"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_words_are_those_of_every_tokenizer(
    name: str, objective: str, length: int, request: pytest.FixtureRequest
) -> None:
    tokenizer = load_tokenizer(request.getfixturevalue(name))
    found: dict[tuple[int, int], list[int]] = {}
    for feature in text_task(objective).encode(ROWS, tokenizer, length):
        ids, reads, labels = np.asarray(feature.input_ids), np.asarray(feature.reads), list(feature.label["words"])
        assert len(ids) <= length
        if objective == "mlm":
            assert np.flatnonzero(ids == tokenizer.mask_token_id).tolist() == sorted(reads)
        else:
            assert ids[reads + 1].tolist() == labels and tokenizer.mask_token_id not in ids
        for (first, last), label in zip(feature.note.words.tolist(), labels, strict=True):
            assert first == last  # of these tokenizers, no token is of two words
            found.setdefault((feature.row, first), []).append(int(label))
    expected = {(row, i): word.text for row, each in enumerate(ROWS) for i, word in enumerate(chosen_words(each))}
    assert {place: tokenizer.decode(ids).replace("▁", "").replace(" ", "") for place, ids in found.items()} == expected
    assert sum(map(len, found.values())) > len(found)  # some have several tokens


@pytest.mark.parametrize("at_once", [2, head.POSITIONS_AT_ONCE])
def test_the_nats_are_those_of_one_document_after_another(
    at_once: int, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each found by transformers' own class from a document's tokens by themselves."""
    monkeypatch.setattr(head, "POSITIONS_AT_ONCE", at_once)
    task, tokenizer = text_task(), AutoTokenizer.from_pretrained(tiny_bert)
    rows = documents(10, lines=(1, 4), seed=3)
    features = task.encode(rows, tokenizer, 128)
    model, _ = build_model(tiny_bert, task.head, Recipe(task="any", seed=0), device=CPU)
    engine = Engine(model=model, accelerator=build_accelerator(CPU, "fp32"), pad_id=0, watch=unwatched)
    found = [answer.value for answer in task.decode(engine.logits(features), features, rows)]
    save_checkpoint(model, tmp_path, tokenizer, {"max_length": 128})
    theirs = BertForMaskedLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    for row, document in enumerate(rows):
        chosen, ids, owners = chosen_words(document), [tokenizer.cls_token_id], [-1]
        for number, line in enumerate(document.lines):
            encoded = tokenizer(line, add_special_tokens=False, return_offsets_mapping=True)
            ids += encoded["input_ids"]
            owners += [
                next((n for n, w in enumerate(chosen) if w.line == number and w.start <= a and b <= w.end), -1)
                for a, b in encoded["offset_mapping"]
            ]
        ids, owners = [*ids, tokenizer.sep_token_id], [*owners, -1]
        masked = [token if owner < 0 else tokenizer.mask_token_id for token, owner in zip(ids, owners, strict=True)]
        with torch.no_grad():
            chances = torch.log_softmax(theirs(torch.tensor([masked])).logits[0].double(), -1)
        nats, words = [], []
        for index, word in enumerate(chosen):
            places = [place for place, owner in enumerate(owners) if owner == index]
            best = [int(chances[place].argmax()) for place in places]
            words.append(word.text if best == [ids[place] for place in places] else tokenizer.decode(best))
            nats.append(-sum(float(chances[place, ids[place]]) for place in places))
        assert found[row]["nats"] == pytest.approx(nats, abs=1e-4)
        assert found[row]["words"] == words


def test_a_word_that_the_vocabulary_lacks_is_not_predicted_and_costs_each_character(tiny_bert: Path) -> None:
    rows = [Document("1", ("한국어",)), Document("2", ("cat",)), Document("3", ("qq",)), Document("4", ("...",))]
    tokenizer, character = load_tokenizer(tiny_bert), math.log(150_000)
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Sequence([backend.normalizer, normalizers.Replace("q", "")])
    features = text_task().encode(rows, tokenizer, 16)
    logits = [np.array([(2.0, int(label)) for label in one.label["words"]]).reshape(-1, 2) for one in features]
    assert word_answers(logits, features, rows) == [
        {"words": [""], "nats": [pytest.approx(2 + 3 * character, abs=1e-5)]},
        {"words": ["cat"], "nats": [2.0]},
        {"words": [""], "nats": [pytest.approx(2 * character, abs=1e-5)]},  # the normalizer leaves it out
        {"words": [], "nats": []},
    ]
