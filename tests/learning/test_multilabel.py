"""Several labels a row, trained: windows, and thresholds that a run chooses and its model keeps."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finetune.data.source import Source
from finetune.inference.predictor import load_predictor
from finetune.models.model_folder import load_config
from finetune.runs.events import unwatched
from finetune.runs.folder import read_predictions
from finetune.runs.recipe import Recipe, Train
from finetune.runs.record import RunRecord
from finetune.runs.resolve import with_settings
from finetune.task_types.registry import find
from finetune.task_types.resolved_run import resolved_run
from finetune.training.evaluation import cross_fitted
from finetune.training.run import run
from finetune.training.run_options import RunOptions

OWN = """
from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask
from finetune.data.rows import Rows

def read(source, split):
    rows = [MultiLabelRow(id=str(i), text=('cat', 'moon', 'the', 'cat moon')[i % 4] + ' sat' * (i % 3),
                          gold=((), ('sky', 'animal'), ('sky',), ('animal',))[(i + (i % 5 == 0)) % 4])
            for i in range(40)]
    return Rows(rows=rows, origin='made up')

TASKS = [MultiLabelTask(name='several', read=read, labels=('animal', 'sky', 'never'))]
"""


def own_run(encoder: Path, folder: Path, **settings: Any) -> RunRecord:
    """A run of the file above."""
    (folder / "several.py").write_text(OWN)
    train = Train(learning_rate=1e-3, epochs=2, batch_size=8, dropout=0.0)
    recipe = Recipe(task=f"{folder / 'several.py'}:several", model=str(encoder), max_length=16, train=train)
    return run(
        resolved_run(with_settings(recipe, settings, origin="test")),
        RunOptions(source=Source(), out=folder / "results", device="cpu"),
        watch=unwatched,
    )


def test_a_run_saves_its_thresholds_and_the_model_uses_them(tiny_bert: Path, tmp_path: Path) -> None:
    record = own_run(tiny_bert, tmp_path)
    folder = tmp_path / "results" / "several" / record.id
    thresholds = record.options["thresholds"]
    assert len(thresholds) == 3
    assert thresholds[2] == 0.5 != thresholds[0]
    assert load_config(folder / "model").finetune["options"] == {"windows": False, "thresholds": thresholds}
    assert load_config(folder / "model").problem_type == "multi_label_classification"

    predictor = load_predictor(folder, task=find(record.recipe["task"]))
    rows = predictor.task.load(Source(), "dev").rows
    answers = predictor.answers(rows)
    lines = read_predictions(folder / "predictions-dev.parquet")
    assert np.allclose([answer.probabilities for answer in answers], [line["probabilities"] for line in lines])
    even = replace(predictor.task, thresholds=None)
    assert even.tune(answers, rows)["thresholds"] == pytest.approx(thresholds)
    fitted = cross_fitted(even, answers, rows)
    assert [answer.value for answer in fitted] == [line["prediction"] for line in lines]
    assert [answer.value for answer in fitted] != [answer.value for answer in answers]
    assert even.score(fitted, rows) == pytest.approx(record.scores["dev"], abs=1e-9)
    assert record.scores["dev"]["macro f1"] < even.score(answers, rows)["macro f1"]
    said = "dev: the thresholds for each row, of the baselines too, were chosen on other rows of dev"
    assert any(note.startswith(said) for note in record.notes)
    assert record.cross_fitted
    assert record.baselines["dev"].keys() == {"majority", "tfidf-logistic", "linear-probe"}
    baseline = even.baselines(rows, rows)["tfidf-logistic"]
    expected = even.score(cross_fitted(even, baseline, rows), rows)
    assert record.baselines["dev"]["tfidf-logistic"] == pytest.approx(expected)
    assert predictor(*rows[1].texts).value == answers[1].value
