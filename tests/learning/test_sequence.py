"""New small encoders and decoders learn to reverse and to sort words: every text of dev is written exactly."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import finetune

WORDS = (*("one", "two", "three", "four", "five", "six", "seven", "eight"), *("sun", "moon", "tree", "river", "road"))
LEARNED: dict[str, Callable[[list[str]], list[str]]] = {"reverse": lambda words: words[::-1], "sort": sorted}


@pytest.mark.nightly
@pytest.mark.parametrize("name", LEARNED)
def test_a_new_encoder_and_decoder_learn(name: str, tmp_path: Path) -> None:
    generator = random.Random(1)
    drawn = [generator.choices(WORDS, k=generator.randint(2, 5)) for _ in range(5_000)]
    lines = [f"{' '.join(words)},{' '.join(LEARNED[name](words))}" for words in drawn]
    data = tmp_path / "words.csv"
    data.write_text("\n".join(["given,written", *lines]) + "\n")
    finetune.tokenizer(str(data), path=tmp_path / "vocabulary", size=70, text="given")
    run = finetune.train(
        str(data), target="written", model="new:2x64", tokenizer=str(tmp_path / "vocabulary"), out=tmp_path / "results",
        max_length=16, max_target_tokens=10, progress=False, device="cpu",
        **{"train.epochs": 12, "train.patience": 12, "train.learning_rate": 2e-3},
    )  # fmt: skip
    assert run.record.scores["dev"]["em"] == 1.0
    assert run.model(" ".join(WORDS[:4])).value == " ".join(LEARNED[name](WORDS[:4]))
