"""The words of dev that are scored: the same whatever the tokenizer and the length of pieces, with the model's nats."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from support.corpora import TOKENIZERS, documents
from support.toys import text_task
from support.training import CPU
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, BertForMaskedLM, PreTrainedTokenizerFast

from finetune.data.documents import Document
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.feature import IGNORED, Feature
from finetune.models.model_folder import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe
from finetune.task_types.pretraining import head
from finetune.task_types.pretraining.dev import (
    CHARACTER,
    NONE,
    PAIRS,
    chosen_words,
    pairs_of,
    word_answers,
)
from finetune.task_types.pretraining.draw import IS_NEXT, IS_RANDOM
from finetune.task_types.pretraining.task import TextTask

ROWS = documents(12, lines=(1, 6))


def labels_in(feature: Feature) -> list[int]:
    return [int(label) for label in feature.label["words"]]


def by_word(features: Sequence[Feature]) -> dict[tuple[int, int], list[int]]:
    """The ids of the tokens of each chosen word, by document and number."""
    found: dict[tuple[int, int], list[int]] = {}
    for feature in features:
        for (first, last), label in zip(feature.note.words.tolist(), labels_in(feature), strict=True):
            assert first == last  # of these tokenizers, no token is of two words
            found.setdefault((feature.row, first), []).append(label)
    return found


@pytest.mark.parametrize("length", [10, 24, 64])
@pytest.mark.parametrize("objective", ["mlm", "ltr"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_tokenizer_is_scored_on_the_same_words(
    name: str, objective: str, length: int, request: pytest.FixtureRequest
) -> None:
    tokenizer = load_tokenizer(request.getfixturevalue(name))
    found = by_word(text_task(objective).encode(ROWS, tokenizer, length))
    expected = {(row, i): word.text for row, each in enumerate(ROWS) for i, word in enumerate(chosen_words(each))}
    assert {place: tokenizer.decode(ids).replace("▁", "").replace(" ", "") for place, ids in found.items()} == expected
    assert sum(map(len, found.values())) > len(found)  # some have several tokens


@pytest.mark.parametrize("name", TOKENIZERS)
def test_masked_words_cannot_be_seen_and_next_words_are_read_before_them(
    name: str, request: pytest.FixtureRequest
) -> None:
    tokenizer = load_tokenizer(request.getfixturevalue(name))
    for feature in text_task("mlm").encode(ROWS, tokenizer, 30):
        assert len(feature) <= 30
        assert set(np.flatnonzero(feature.input_ids == tokenizer.mask_token_id)) == set(feature.reads)
    for feature in text_task("ltr").encode(ROWS, tokenizer, 30):
        assert np.asarray(feature.input_ids)[np.asarray(feature.reads) + 1].tolist() == labels_in(feature)
        assert tokenizer.mask_token_id not in feature.input_ids


def engine_for(task: TextTask, folder: Path) -> Engine:
    model, _ = build_model(folder, task.head, Recipe(task="any", seed=0), device=CPU)
    return Engine(model=model, accelerator=build_accelerator(CPU, "fp32"), pad_id=0, watch=unwatched)


@pytest.mark.parametrize("at_once", [2, head.POSITIONS_AT_ONCE])
def test_the_nats_are_those_of_one_document_after_another(
    at_once: int, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "POSITIONS_AT_ONCE", at_once)
    task, tokenizer = text_task(), AutoTokenizer.from_pretrained(tiny_bert)
    rows = documents(10, lines=(1, 4), seed=3)
    features = task.encode(rows, tokenizer, 128)
    predicting = engine_for(task, tiny_bert)
    found = [answer.value for answer in task.decode(predicting.logits(features), features, rows)]
    save_checkpoint(predicting.model, tmp_path, tokenizer, {"max_length": 128})
    theirs = BertForMaskedLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    for row, document in enumerate(rows):
        expected = slow_nats(theirs, tokenizer, document)
        assert found[row]["nats"] == pytest.approx([nats for nats, _ in expected], abs=1e-4)
        assert found[row]["words"] == [word for _, word in expected]


def slow_nats(
    model: BertForMaskedLM, tokenizer: PreTrainedTokenizerFast, document: Document
) -> list[tuple[float, str]]:
    """Nats and prediction of each chosen word, from a document's tokens by themselves."""
    ids, owners = [tokenizer.cls_token_id], [NONE]
    for number, line in enumerate(document.lines):
        encoded = tokenizer(line, add_special_tokens=False, return_offsets_mapping=True)
        for token, (start, end) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
            inside = [
                index
                for index, word in enumerate(chosen_words(document))
                if word.line == number and word.start <= start and end <= word.end
            ]
            ids.append(token)
            owners.append(inside[0] if inside else NONE)
    ids.append(tokenizer.sep_token_id)
    owners.append(NONE)
    masked = [tokenizer.mask_token_id if owner != NONE else token for token, owner in zip(ids, owners, strict=True)]
    with torch.no_grad():
        chances = torch.log_softmax(model(torch.tensor([masked])).logits[0].double(), -1)
    found = []
    for index, word in enumerate(chosen_words(document)):
        positions = [place for place, owner in enumerate(owners) if owner == index]
        best = [int(chances[place].argmax()) for place in positions]
        right = [ids[place] for place in positions]
        text = word.text if best == right else tokenizer.decode(best)
        found.append((-sum(float(chances[place, ids[place]]) for place in positions), text))
    return found


def reduced(features: Sequence[Feature], nats: float, predicted: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """What a head returns for features, with equal nats of each token."""
    return [
        np.array([(nats, number) for number in numbers]).reshape(-1, 2)
        for _, numbers in zip(features, predicted, strict=True)
    ]


def test_a_word_that_the_vocabulary_lacks_is_not_predicted_and_costs_each_character(tiny_bert: Path) -> None:
    rows = [Document("1", ("한국어",)), Document("2", ("cat",)), Document("3", ("qq",)), Document("4", ("...",))]
    task = text_task()
    tokenizer = load_tokenizer(tiny_bert)
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Sequence([backend.normalizer, normalizers.Replace("q", "")])
    features = task.encode(rows, tokenizer, 16)
    found = word_answers(reduced(features, 2.0, [labels_in(f) for f in features]), features, rows)
    unknown, cat, dropped, none = found
    assert (unknown["words"], unknown["nats"]) == ([""], [round(2 + 3 * CHARACTER, 6)])
    assert (cat["words"], cat["nats"]) == (["cat"], [2.0])
    assert (dropped["words"], dropped["nats"]) == ([""], [round(2 * CHARACTER, 6)])  # the normalizer leaves it out
    assert none == {"words": [], "nats": []}
    assert math.exp(CHARACTER) == pytest.approx(150_000)


def ideographs(folder: Path) -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are two ideographs or one."""
    vocabulary = {token: number for number, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}
    vocabulary |= {"中国": 5, "人": 6, "水": 7, "火山": 8}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=special
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    )  # fmt: skip


def test_each_word_of_a_token_costs_its_part_whether_the_others_are_chosen_or_not(tmp_path: Path) -> None:
    """So that equal nats of each ideograph are equal scores for a vocabulary of ideographs and of several at once."""
    drawn, tokenizer, task = random.Random(0), ideographs(tmp_path), text_task()
    rows = [Document(str(i), (" ".join(drawn.choices(["中国", "人", "水", "火山"], k=25)),)) for i in range(40)]
    features = task.encode(rows, tokenizer, 64)
    both = [f.note.words[:, 0] != f.note.words[:, 1] for f in features]
    assert sum(map(np.count_nonzero, both)) > 5
    assert all((f.note.shared[of_both] == 2).all() for f, of_both in zip(features, both, strict=True))
    logits = [np.column_stack([2.0 * f.note.shared, f.label["words"]]) for f in features]
    right = word_answers(logits, features, rows)
    assert {nats for one in right for nats in one["nats"]} == {2.0}
    assert [one["words"] for one in right] == [[word.text for word in chosen_words(row)] for row in rows]


def test_pairs_are_half_the_documents_own_and_the_same_for_every_tokenizer(request: pytest.FixtureRequest) -> None:
    rows, seen = documents(150, lines=(1, 7), seed=4), list[list[object]]()
    for name in TOKENIZERS:
        tokenizer = load_tokenizer(request.getfixturevalue(name))
        features = text_task("mlm-nsp").encode(rows, tokenizer, 48)
        pairs = [feature for feature in features if feature.note.pair is not None]
        assert all(len(feature) <= 48 for feature in features)
        assert all(feature.label["words"] == [IGNORED] for feature in pairs)
        assert all(feature.label["next"] == IGNORED for feature in features if feature.note.pair is None)
        seen.append([(feature.row, feature.note.pair, feature.label["next"]) for feature in pairs])
    assert seen[0] == seen[1] == seen[2]
    expected = [
        (row, pair, IS_NEXT if is_next else IS_RANDOM)
        for row, document in enumerate(rows)
        for pair, (_, is_next) in enumerate(pairs_of(document))
    ]
    assert seen[0] == expected
    counts = Counter(label for _, _, label in expected)
    assert 0.44 < counts[IS_NEXT] / counts.total() < 0.56
    cuts = [[cut for cut, _ in pairs_of(document)] for document in rows]
    assert [len(each) for each in cuts] == [min(PAIRS, len(document.lines) - 1) for document in rows]
    assert all(sorted(set(each)) == each and set(each) <= set(range(1, 7)) for each in cuts)


def test_pairs_are_answered_by_the_larger_logit(tiny_bert: Path) -> None:
    task, rows = text_task("mlm-nsp"), documents(6, lines=(3, 5))
    features = task.encode(rows, load_tokenizer(tiny_bert), 48)
    gold = task.labels_of(rows)
    logits = [
        np.array([[1.0, 7.0, *((0.2, -1.0) if f.label["next"] == IS_NEXT else (-1.0, 0.2))]] * len(f.label["words"]))
        for f in features
    ]
    answers = task.decode(logits, features, rows)
    assert [one.value["next"] for one in answers] == [one.value["next"] for one in gold]
    assert task.score(answers, rows)["next sentence"] == 1.0
    assert set(task.score(gold, rows).values()) == {1.0}
