"""Heads that are fitted at once: scikit-learn's numbers, and the contrastive step's loss, batches and learning."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.toys import cat_task, span_task, tag_task
from support.training import build

from finetune.errors import UserError
from finetune.inference.hidden_states import with_states
from finetune.runs.recipe import Train
from finetune.task_types.task import Task
from finetune.training.contrastive import TEMPERATURE, contrastive_loss, require_contrast, shared_labels
from finetune.training.evaluation import DevEvaluation
from finetune.training.few_rows import fit_logistic, require_linear
from finetune.training.targets import expand_targets


@pytest.mark.parametrize("task", [cat_task(), tag_task()], ids=lambda task: task.name)
@pytest.mark.parametrize("layers", [[2], [1, 2]])
def test_the_answers_of_a_fitted_head_are_scikit_learns(task: Task, layers: list[int], tiny_bert: Path) -> None:
    rows = task.read(None, "train").rows
    trainer, features = build(task.fit(rows), tiny_bert, Train(solver="logistic"), frozen=True, layers=layers)
    fit_logistic(trainer.engine, features, DevEvaluation(task=task, rows={"dev": rows}, features={"dev": features}))
    held = with_states(features, trainer.engine, weights="w", precision="fp32")
    inputs = np.concatenate([feature.states().reshape(-1, 32 * len(layers)) for feature in held])  # type: ignore[misc]
    labels = np.array([x for f in features for x in (f.label if isinstance(f.label, list) else [f.label])])
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(inputs, labels)
    logits = np.concatenate([np.atleast_2d(given) for given in trainer.engine.logits(features)])
    assert (logits.argmax(1) == theirs.predict(inputs)).mean() > 0.995
    ours = np.exp(logits - logits.max(1, keepdims=True))
    ours /= ours.sum(1, keepdims=True)
    assert np.abs(ours[:, theirs.classes_] - theirs.predict_proba(inputs)).max() < 0.03  # states are kept as fp16


@pytest.mark.parametrize(
    ("task", "family", "settings", "words"),
    [
        (cat_task(), "bert", {}, "Set frozen=true"),
        (cat_task(), "bert", {"frozen": True, "bilstm": True}, "cannot train a BiLSTM"),
        (cat_task(), "roberta", {"frozen": True}, r"no pretrained pooler.*layers=\[2\]"),
        (span_task(), "bert", {"frozen": True}, "for text and word labels"),
        (tag_task(), "bert", {"contrast": True}, "is for labels of texts and of pairs"),
        (cat_task(), "bert", {"contrast": True, "frozen": True}, "trains the encoder, and frozen = true"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    task: Task, family: str, settings: dict[str, Any], words: str, request: pytest.FixtureRequest
) -> None:
    settings = dict(settings)
    require = require_contrast if settings.pop("contrast", False) else require_linear
    model = build(task, request.getfixturevalue(f"tiny_{family}"), Train(), **settings)[0].model
    with pytest.raises(UserError, match=words):
        require(model, frozen=settings.get("frozen", False))


FITTED = 'frozen = true\ntrain.solver = "logistic"\n'


@pytest.mark.parametrize(
    ("grid", "what"),
    [
        (f"{FITTED}[grid]\nlayers = ['last', [1]]\ninit_seed = [1, 2]", "init_seed"),
        ("frozen = true\n[grid]\ntrain.solver = ['adam', 'logistic']\nseed = [1, 2]", "seed"),
        (f'{FITTED}[grid]\nlayers = ["last", [1]]\ntrain.precision = ["fp32", "bf16"]', 4),
        ("[grid]\nseed = [1, 2]", 2),
    ],
)
def test_a_grid_that_repeats_one_fit_is_refused(grid: str, what: str | int, tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(f'task = "rte"\n{grid}\n')
    if isinstance(what, int):
        assert len(expand_targets([str(file)], {})) == what
        return
    with pytest.raises(UserError, match=f"gives the same result for every {what}. Give one {what}, without `seeds`"):
        expand_targets([str(file)], {})


def test_the_contrastive_loss_is_the_papers() -> None:
    """Khosla et al. 2020, equation 2, row by row; the last row has none of its label and is left out."""
    vectors = torch.nn.functional.normalize(torch.randn(5, 8, generator=torch.Generator().manual_seed(0)), dim=1)
    labels = [0, 1, 0, 0, 2]
    each = []
    for row in range(5):
        others = [other for other in range(5) if other != row]
        total = sum(math.exp(vectors[row] @ vectors[other] / TEMPERATURE) for other in others)
        same = [other for other in others if labels[other] == labels[row]]
        shares = [math.log(math.exp(vectors[row] @ vectors[other] / TEMPERATURE) / total) for other in same]
        each += [-sum(shares) / len(same)] if same else []
    found = contrastive_loss(vectors, shared_labels(torch.tensor(labels)))
    assert len(each) == 3
    assert float(found) == pytest.approx(sum(each) / len(each), rel=1e-5)
    alone = torch.eye(3, requires_grad=True)
    contrastive_loss(alone, shared_labels(torch.tensor([0, 1, 2]))).backward()
    assert alone.grad is not None and bool((alone.grad == 0).all())
    several = shared_labels(torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]))
    assert (several[0].tolist(), several[3].tolist()) == ([1, 0.5, 0, 0], [0, 0, 0, 0])
