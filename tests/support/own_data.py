"""A run on a file of reviews, and what it takes to train others on a user's own data."""

import csv
from pathlib import Path
from typing import Any

import pytest

import finetune as package
from finetune.data.source import Source
from finetune.inference import predict_file as predicting
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import Predictor
from finetune.runs.events import unwatched
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.run import run

REVIEWS = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(80)]


FAST = {"train.epochs": 6, "train.learning_rate": 2e-3, "train.batch_size": 8, "max_length": 16, "train.patience": 6}


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def trained_run(folder: Path, data: Path, model: Path, **settings: Any) -> Path:
    recipe, _ = starting_recipe(str(data), {"model": str(model), **FAST, **settings})
    record = run(recipe, source=Source(), out=folder, watch=unwatched, device="cpu")
    return folder / record.task / record.id


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A run on a CSV in which cats are good and dogs are bad."""
    folder = tmp_path_factory.mktemp("reviews")
    return trained_run(folder / "results", written(folder / "reviews.csv", [("review", "mark"), *REVIEWS]), tiny_bert)


@pytest.fixture(scope="module")
def reviewer(reviews: Path) -> Predictor:
    return package.load(reviews)


def predict(predictor: Predictor, path: Path, output: Path, **options: str) -> predicting.Prediction:
    return predict_file(predictor, path, output, options=options, watch=unwatched)
