"""Whether an encoder knows the language: MiniLM's vocabulary, which is English, on texts in many languages."""

import json
import os
from pathlib import Path

import pytest
from support.cli import InProcess
from support.languages import LANGUAGES, sentences
from transformers import PreTrainedTokenizerBase

from finetune.models import pretrained as weights
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.vocabulary import foreign_rows, misfit, suggested_encoder

ENGLISH = [
    "The waiter was kind and the food was good, but it took a while for us to get a table",
    "We waited for an hour in the rain and it was not worth it, sorry",
    "lol @user this is soooo good, u should try it http://t.co/abc123 #yum",
    "The plot of this film is thin; the actors, however, are excellent and the camera work is a delight",
]
OWN = {
    "Korean": "klue/bert-base, or klue/roberta-base, klue/roberta-large, "
    "monologg/koelectra-base-v3-discriminator, beomi/kcbert-base",
    "Chinese": "google-bert/bert-base-chinese",
    "Chinese (traditional)": "google-bert/bert-base-chinese",
}


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return load_tokenizer(weights.resolve("minilm").folder)


def test_english_fits(tokenizer: PreTrainedTokenizerBase) -> None:
    assert misfit(ENGLISH, tokenizer, "minilm") is None
    assert misfit([f"{text} ☃ 🙂" for text in ENGLISH], tokenizer, "minilm") is None


def test_a_few_letters_say_nothing(tokenizer: PreTrainedTokenizerBase) -> None:
    assert misfit(["오늘 날씨가 정말 좋다"], tokenizer, "minilm") is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_languages_do_not_and_the_right_encoders_are_named(
    language: str, tokenizer: PreTrainedTokenizerBase
) -> None:
    found = misfit(sentences(language, 60, 0), tokenizer, "minilm")
    assert found is not None
    what, remedy = found.what, found.remedy
    assert what.startswith("the vocabulary of minilm")
    assert f"model={OWN.get(language, 'google-bert/bert-base-multilingual-cased')}, " in remedy
    assert remedy.endswith("FacebookAI/xlm-roberta-base")


def test_a_run_says_it_and_keeps_it_in_the_record(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    rows = [f'{{"text": "{text}", "label": "{"ab"[i % 2]}"}}' for i, text in enumerate(sentences("Russian", 40, 0))]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    code, _, err = in_process("run", "a.jsonl", f"model={tiny_bert}", "train.epochs=1", data=tmp_path)
    said = f"the vocabulary of {os.path.relpath(tiny_bert, tmp_path)} does not fit these texts: "
    assert code == 0 and f"note: {said}" in err
    (record,) = tmp_path.glob("results/*/*/record.json")
    (note,) = [note for note in json.loads(record.read_text(encoding="utf-8"))["notes"] if "vocabulary" in note]
    assert suggested_encoder(["another note", note]) == "google-bert/bert-base-multilingual-cased"
    assert note.startswith(said) and "google-bert/bert-base-multilingual-cased" in note


def test_short_words_are_no_sign_of_a_misfit(tiny_bert: Path) -> None:
    """A word of two letters is half a token a letter, however well the vocabulary fits."""
    assert (
        misfit(["he was on it and she ran", "no one sat on a red sun"] * 40, load_tokenizer(tiny_bert), "tiny") is None
    )


def test_rows_of_another_language_among_english_ones_are_found(tokenizer: PreTrainedTokenizerBase) -> None:
    german = ["Der Film war leider sehr langweilig und viel zu lang geraten"] * 12
    assert foreign_rows([*ENGLISH, *german], tokenizer) == [*range(len(ENGLISH), len(ENGLISH) + 12)]
    assert foreign_rows(ENGLISH, tokenizer) == foreign_rows([*ENGLISH, *german[:2]], tokenizer) == []
