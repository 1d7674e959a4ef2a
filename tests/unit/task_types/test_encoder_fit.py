"""Whether an encoder fits the user's texts: its vocabulary and their language, its length and theirs."""

import json
from pathlib import Path

import pytest
from support.languages import LANGUAGES, sentences

from finetune.models import pretrained as weights
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.starting_recipe import starting_recipe
from finetune.task_types.vocabulary import foreign_rows, misfit

ENGLISH = [
    "The waiter was kind and the food was good, but it took a while for us to get a table",
    "lol @user this is soooo good, u should try it http://t.co/abc123 #yum",
    "The plot of this film is thin; the actors, however, are excellent and the camera work is a delight ☃ 🙂",
]
OWN = {
    "Korean": "klue/bert-base, or klue/roberta-base",
    **dict.fromkeys(["Chinese", "Chinese (traditional)"], "google-bert/bert-base-chinese"),
}


def test_texts_that_a_vocabulary_does_not_fit_are_told_with_encoders_that_do() -> None:
    tokenizer = load_tokenizer(weights.resolve("minilm").folder)
    assert misfit(ENGLISH * 2, tokenizer, "minilm") is None
    assert misfit(["오늘 날씨가 정말 좋다"], tokenizer, "minilm") is None  # a few letters say nothing
    for language in LANGUAGES:
        found = misfit(sentences(language, 60, 0), tokenizer, "minilm")
        assert found is not None, language
        assert f"model={OWN.get(language, 'google-bert/bert-base-multilingual-cased')}, " in found.remedy
        assert found.remedy.endswith("FacebookAI/xlm-roberta-base")
    german = ["Der Film war leider sehr langweilig und viel zu lang geraten"] * 12
    assert foreign_rows([*ENGLISH, *german], tokenizer) == [*range(3, 15)]
    assert foreign_rows([*ENGLISH, *german[:2]], tokenizer) == []


def encoder(folder: Path, *, positions: int, tokens: int) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": positions}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": tokens}))
    return str(folder)


@pytest.mark.parametrize(
    ("words", "positions", "tokens", "length", "parts"),
    [
        (20, 8_192, 8_192, 64, 1),
        (600, 8_192, 8_192, 1_024, 1),
        (4_000, 8_192, 8_192, 8_192, 8),
        (600, 514, 512, 256, 1),
    ],
)
def test_length_and_parts_of_batches(
    words: int, positions: int, tokens: int, length: int, parts: int, tmp_path: Path
) -> None:
    """In parts of a batch that take no more memory than one of short texts."""
    data = tmp_path / "a.csv"
    data.write_text("text,label\n" + "".join(f"{'word ' * words}{i},{'ab'[i % 2]}\n" for i in range(60)))
    model = encoder(tmp_path / "encoder", positions=positions, tokens=tokens)
    started, _ = starting_recipe(str(data), {"model": model})
    assert (started.max_length, started.train.accumulation) == (length, parts)
