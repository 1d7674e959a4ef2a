"""word2vec: skip-gram against a plain loop, what it learns, its words, and a run with it."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.cli import InProcess, assert_error

from finetune.errors import UserError
from finetune.models.word2vec import skip_gram
from finetune.models.word2vec.encoder import require_static, word2vec_files
from finetune.models.word2vec.skip_gram import NEGATIVES, WordIds, kept_share, skip_gram_vectors
from finetune.models.word2vec.vocabulary import word_ids, word_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe

ANIMALS, TOOLS = ("cat", "dog", "cow", "hen"), ("saw", "axe", "drill", "file")


def made_corpus(texts: int = 600) -> list[str]:
    """Animals eat, sleep and run; tools cut, bore and rust: words of a kind are never in one text."""
    generator = np.random.default_rng(0)
    kinds = ((ANIMALS, ("eats", "sleeps", "runs", "hay")), (TOOLS, ("cuts", "bores", "rusts", "wood")))
    found = []
    for number in range(texts):
        names, near = kinds[number % 2]
        words = [names[generator.integers(4)], *(near[i] for i in generator.integers(0, 4, 3))]
        found.append(" ".join(words))
    return found


def test_words_in_like_places_become_alike() -> None:
    texts = made_corpus()
    tokenizer = word_tokenizer(texts)
    words = word_ids(texts, tokenizer)
    vectors = skip_gram_vectors(words, size=len(tokenizer), width=16, seed=1, watch=unwatched)
    assert np.array_equal(vectors, skip_gram_vectors(words, size=len(tokenizer), width=16, seed=1, watch=unwatched))
    assert not np.array_equal(vectors, skip_gram_vectors(words, size=len(tokenizer), width=16, seed=2, watch=unwatched))
    numbers = tokenizer.get_vocab()
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    def likeness(one: str, other: str) -> float:
        return float(unit[numbers[one]] @ unit[numbers[other]])

    same = [likeness(a, b) for names in (ANIMALS, TOOLS) for a in names for b in names if a != b]
    apart = [likeness(a, b) for a in ANIMALS for b in TOOLS]
    assert min(same) > max(apart) + 0.2
    assert not vectors[numbers["[PAD]"]].any()


def test_an_update_is_the_sum_of_the_gradients_of_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equation 4 of the paper for each pair, by a plain loop; a drawn word that is the right one does not count."""
    generator = np.random.default_rng(3)
    vectors, outputs = (generator.normal(size=(6, 4)).astype(np.float32) for _ in range(2))
    pairs, noise, rate = np.array([[0, 1], [2, 1], [0, 5], [0, 1]]), np.cumsum(np.ones(6)), 0.1
    expected, expected_outputs = vectors.astype(float), outputs.astype(float)
    drawn = (np.random.default_rng(7).random((4, NEGATIVES)) * 6).astype(int)
    for (word, near), others in zip(pairs, drawn, strict=True):
        for other, right in [(near, 1.0), *((number, 0.0) for number in others if number != near)]:
            slope = right - 1 / (1 + np.exp(-vectors[word].astype(float) @ outputs[other]))
            expected[word] += rate * slope * outputs[other]
            expected_outputs[other] += rate * slope * vectors[word]
    assert (drawn == pairs[:, 1:]).any()
    skip_gram._update(vectors, outputs, pairs, noise, rate, np.random.default_rng(7))
    assert vectors == pytest.approx(expected, abs=1e-5)
    assert outputs == pytest.approx(expected_outputs, abs=1e-5)


def test_pairs_are_near_and_of_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skip_gram, "FREQUENT", 1.0)
    words = WordIds(ids=np.arange(20), texts=np.repeat([0, 1], 10))
    found = [
        tuple(pair) for _, pairs in skip_gram._pairs(words, np.ones(20), np.random.default_rng(0)) for pair in pairs
    ]
    assert all(0 < abs(a - b) <= skip_gram.REACH and a // 10 == b // 10 for a, b in found)
    assert {(4, 5), (5, 4), (14, 13)} <= set(found)
    assert (9, 10) not in found


def test_frequent_words_are_left_out_by_chance() -> None:
    counts = np.array([1_000_000, 1_000, 10, 0])
    share = kept_share(counts)
    of_first = counts[0] / counts.sum() / 1e-3
    assert share[0] == pytest.approx((np.sqrt(of_first) + 1) / of_first)
    assert share[1:].tolist() == [1, 1, 1]


def test_words_that_come_once_or_never_are_unknown() -> None:
    tokenizer = word_tokenizer(["Ann saw Bob.", "Ann saw the sea.", "나는 학교에 갔다 나는"])
    assert set(tokenizer.get_vocab()) == {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Ann", "saw", ".", "나는"}
    assert tokenizer.tokenize("Ann saw Cid , ann 나는") == ["Ann", "saw", "[UNK]", "[UNK]", "[UNK]", "나는"]
    with pytest.raises(UserError, match="no word comes twice"):
        word_tokenizer(["one two", "three four"])


def test_the_encoder_has_the_vectors_of_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoModel, AutoTokenizer

    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path))
    recipe = Recipe(task="any", model="word2vec:8", seed=5)
    files = word2vec_files(recipe, made_corpus(100), unwatched)
    again = word2vec_files(recipe, made_corpus(100), unwatched)
    other = word2vec_files(recipe, made_corpus(101), unwatched)
    assert files.folder == again.folder
    assert len({files.fingerprint, again.fingerprint, other.fingerprint}) == 2
    tokenizer, model = AutoTokenizer.from_pretrained(files.folder), AutoModel.from_pretrained(files.folder)
    model.eval()
    states = model(**tokenizer("cat dog cat", return_tensors="pt")).last_hidden_state[0].detach().numpy()
    assert np.array_equal(states[1], states[3])  # the place adds nothing
    assert states[1].mean() == pytest.approx(0, abs=1e-5)
    words = word_ids(made_corpus(100), tokenizer)
    vectors = skip_gram_vectors(words, size=len(tokenizer), width=8, seed=5, watch=unwatched)
    cat = vectors[tokenizer.get_vocab()["cat"]]
    assert states[1] == pytest.approx((cat - cat.mean()) / cat.std(), abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "word2vec:0"}, "from 1 to 1,024"),
        ({"model": "word2vec:many"}, "word2vec:100"),
        ({"model": "word2vec:"}, "word2vec:100"),
        ({"lora": 4}, "lora"),
        ({"freeze_layers": 1}, "freeze_layers"),
        ({"keep_layers": [0]}, "keep_layers"),
        ({"tokenizer": "vocabulary"}, "tokenizer"),
    ],
)
def test_settings_that_need_layers_are_refused(settings: dict[str, object], words: str) -> None:
    recipe = Recipe.model_validate({"task": "any", "model": "word2vec", **settings})
    with pytest.raises(UserError, match=words):
        require_static(recipe)
    assert require_static(Recipe(task="any", model="word2vec")) == 100


def test_a_run_is_trained_and_predicts(tmp_path: Path, in_process: InProcess) -> None:
    rows = [{"text": text, "label": "animal" if text.split()[0] in ANIMALS else "tool"} for text in made_corpus(120)]
    data = tmp_path / "things.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = ["model=word2vec:16", "frozen=true", "--out", str(tmp_path / "runs"), "--quiet"]
    code, _, err = in_process("run", str(data), *settings, "pooling=family", data="")
    assert code == 2
    assert_error(err, "word2vec:16", "pooling=mean")
    code, _, err = in_process("run", str(data), *settings, "pooling=mean", "train.learning_rate=0.1", data="")
    assert code == 0, err
    (record,) = (json.loads(file.read_text()) for file in tmp_path.glob("runs/*/*/record.json"))
    assert record["scores"]["dev"]["accuracy"] > 0.95
    assert any("vectors of 21 words and signs" in note for note in record["notes"])
    new = tmp_path / "new.jsonl"
    new.write_text('{"text": "hen eats hay"}\n{"text": "axe cuts a plank"}\n')
    predicted = tmp_path / "predicted.jsonl"
    code, _, err = in_process(
        "predict", record["id"], str(new), "-o", str(predicted), "--out", str(tmp_path / "runs"), data=""
    )
    assert code == 0, err
    assert [json.loads(line)["prediction"] for line in predicted.read_text().splitlines()] == ["animal", "tool"]
