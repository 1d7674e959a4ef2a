"""CSV files in and out of a prediction."""

import csv
from pathlib import Path

from finetune.inference.predict_file import Prediction, predict_file
from finetune.inference.predictor import Predictor
from finetune.runs.events import unwatched


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def predict(predictor: Predictor, path: Path, output: Path, **options: str) -> Prediction:
    return predict_file(predictor, path, output, options=options, watch=unwatched)
