"""The note of `predict` on a file that is unlike the dev rows of the run, and its silence on others."""

import random
from pathlib import Path

import pytest
from support.predicted_files import predict, written
from support.runs import trained_run

from finetune.inference.predictor import Predictor, load_predictor

WORDS = ("the", "a", "cat", "dog", "bird", "sat", "ran", "on", "in", "and")
UNLIKE = "is unlike the dev rows"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Predictor:
    """A model with 100 rows of dev."""
    folder = tmp_path_factory.mktemp("shift")
    data = written(folder / "a.csv", [("review", "mark"), *rows(1, 1_000)])
    return load_predictor(trained_run(folder / "out", data, tiny_bert, max_length=32))


def rows(seed: int, count: int) -> list[tuple[str, str]]:
    """Texts of four to nine words, of which the first decides the label."""
    drawn = random.Random(seed)
    found = [[drawn.choice(("good", "bad")), *drawn.choices(WORDS, k=drawn.randint(3, 8))] for _ in range(count)]
    return [(" ".join(words), words[0]) for words in found]


def notes(trained: Predictor, folder: Path, texts: list[str]) -> list[str]:
    file = written(folder / "new.csv", [("review",), *((text,) for text in texts)])
    return [note for note in predict(trained, file, folder / "out.csv").notes if UNLIKE in note]


@pytest.mark.parametrize("seed", range(3))
def test_rows_drawn_as_those_of_dev_have_none(trained: Predictor, tmp_path: Path, seed: int) -> None:
    assert notes(trained, tmp_path, [text for text, _ in rows(seed, 300)]) == []


def test_other_lengths_and_unknown_words_are_noted_in_one_line(trained: Predictor, tmp_path: Path) -> None:
    (note,) = notes(trained, tmp_path, [f"{text} {text}" for text, _ in rows(4, 60)])
    assert "tokens a row (dev: " in note
    (note,) = notes(trained, tmp_path, [f"그 고양이가 {i}번 앉아 있었다고 합니다" for i in range(80)])
    assert "unknown tokens (dev: " in note


def test_few_rows_and_a_model_without_its_run_have_none(trained: Predictor, tmp_path: Path) -> None:
    texts = [f"{text} {text}" for text, _ in rows(4, 60)]
    assert notes(trained, tmp_path, texts[:40]) == []
    moved = load_predictor((trained.folder or tmp_path).rename(tmp_path / "moved"))
    assert notes(moved, tmp_path, texts) == []
