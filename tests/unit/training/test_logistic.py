"""The head that scikit-learn fits: the same numbers as scikit-learn's own, saved and loaded like any other."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.toys import cat_task, choice_task, labels_task, length_task, span_task, tag_task
from support.training import CPU, build, unscored

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.hidden_states import with_states
from finetune.models.building import build_model
from finetune.models.feature import Feature
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.classification.head import PooledHead
from finetune.task_types.task import Task
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.few_rows import fit_logistic, require_linear
from finetune.training.targets import expand_targets
from finetune.training.trainer import Trainer

LOGISTIC = Train(solver="logistic")


def fitted(task: Task, folder: Path, **reading: Any) -> tuple[Trainer, list[Feature], Evaluated]:
    """A trainer whose head is fitted, and its predictions on the training rows."""
    task = task.fit(task.load(Source(), "train").rows)
    trainer, features = build(task, folder, LOGISTIC, frozen=True, **reading)
    rows = task.load(Source(), "train").rows
    evaluation = DevEvaluation(task=task, rows={"dev": rows}, features={"dev": features})
    progress, found = fit_logistic(trainer.engine, features, evaluation)
    assert (progress.selected_epoch, progress.update) == (1, 1)
    assert 0 <= progress.epochs[0].loss < 5
    return trainer, features, found


def states(trainer: Trainer, features: list[Feature]) -> np.ndarray:
    """What the output layer reads, one row a text or word."""
    held = with_states(features, trainer.engine, weights="w", precision="fp32")
    return np.concatenate([feature.states()[:, 0] for feature in held])  # type: ignore[misc]


@pytest.mark.parametrize("task", [cat_task(), tag_task()], ids=lambda task: task.name)
def test_its_answers_are_scikit_learns(
    task: Task, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path))
    trainer, features, _ = fitted(task, tiny_bert, layers=[2])
    inputs = states(trainer, features)
    labels = np.array([x for f in features for x in (f.label if isinstance(f.label, list) else [f.label])])
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(inputs, labels)
    logits = np.concatenate([np.atleast_2d(given) for given in trainer.engine.logits(features)])
    assert (logits.argmax(1) == theirs.predict(inputs)).mean() > 0.995
    ours = np.exp(logits - logits.max(1, keepdims=True))
    ours /= ours.sum(1, keepdims=True)
    assert np.abs(ours[:, theirs.classes_] - theirs.predict_proba(inputs)).max() < 0.03  # states are kept as fp16


def test_numbers_and_several_labels_are_fitted_too(tiny_bert: Path) -> None:
    _, _, lengths = fitted(length_task(), tiny_bert, layers=[0, 1, 2])
    assert lengths.scores["dev"]["pearson"] > 0.5
    _, _, labels = fitted(labels_task(), tiny_bert, layers=[0, 1, 2])
    rows = labels.task.load(Source(), "dev").rows
    majority = labels.task.baselines(rows, rows)["majority"]
    assert labels.scores["dev"]["micro f1"] > labels.task.score(majority, rows)["micro f1"]


def test_it_is_saved_and_loaded_like_any_other(tiny_bert: Path, tmp_path: Path) -> None:
    for name, reading in (("last", {}), ("mix", {"layers": [1, 2]})):
        trainer, features, _ = fitted(cat_task(), tiny_bert, **reading)
        folder = tmp_path / name
        save_checkpoint(trainer.model, folder, load_tokenizer(tiny_bert), {**reading, "bare": True})
        before = np.stack(trainer.engine.logits(features))
        loaded = replace(trainer.engine, model=load_trained(folder, cat_task().head))
        assert np.allclose(before, np.stack(loaded.logits(features)), atol=1e-5)


def test_a_class_that_no_row_has_is_never_the_answer(tiny_bert: Path) -> None:
    task = tag_task()
    trainer, features = build(task, tiny_bert, LOGISTIC, frozen=True)
    kept = [f for f in features if max(f.label) <= 2]  # type: ignore[type-var, arg-type]
    fit_logistic(trainer.engine, kept, unscored)
    assert {int(logits.argmax()) for given in trainer.engine.logits(features) for logits in given} <= {0, 1, 2}


def test_rows_of_one_class_and_classes_that_weigh_alike(tiny_bert: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, LOGISTIC, frozen=True)
    fit_logistic(trainer.engine, [f for f in features if f.label == 1], unscored)
    assert {int(logits.argmax()) for logits in trainer.engine.logits(features)} == {1}
    few = [f for i, f in enumerate(features) if f.label == 1 or i % 9 == 0]
    given = []
    for weights in ((), (50.0, 0.02)):
        task = replace(cat_task(), class_weights=weights)
        trainer, _ = build(task, tiny_bert, LOGISTIC, frozen=True, layers=[0])
        fit_logistic(trainer.engine, few, unscored)
        given.append({int(logits.argmax()) for logits in trainer.engine.logits(few)})
    assert given == [{1}, {0}]  # the first token's embedding, the same for every row


def test_what_it_cannot_fit_is_refused(tiny_bert: Path, tiny_roberta: Path) -> None:
    for task, folder, reading, words in (
        (cat_task(), tiny_bert, {}, "Set frozen=true"),
        (cat_task(), tiny_bert, {"frozen": True, "bilstm": True}, "cannot train a BiLSTM"),
        (cat_task(), tiny_bert, {"frozen": True, "layers": "weighted-sum-all"}, "or layer weights"),
        (cat_task(), tiny_roberta, {"frozen": True}, r"no pretrained pooler.*layers=\[2\]"),
        (span_task(), tiny_bert, {"frozen": True}, "for text and word labels"),
        (choice_task(), tiny_bert, {"frozen": True}, "for text and word labels"),
    ):
        recipe = Recipe(task="any", train=LOGISTIC, **reading)
        model, _ = build_model(folder, task.head, recipe, device=CPU)
        with pytest.raises(UserError, match=words):
            require_linear(model, frozen=recipe.frozen)


def test_a_head_of_another_loss_is_not_solved_as_classes(tiny_bert: Path) -> None:
    """Of a new type, whose labels are integers too: levels, of which each logit is a threshold."""

    class Levels(PooledHead):
        auto_class = "AutoModelForSequenceClassification"

    recipe = Recipe(task="any", train=LOGISTIC, frozen=True)
    model, _ = build_model(tiny_bert, lambda backbone: Levels(backbone, ["1", "2"]), recipe, device=CPU)
    with pytest.raises(UserError, match="for text and word labels"):
        require_linear(model, frozen=True)


FITTED = 'frozen = true\ntrain.solver = "logistic"\n'


@pytest.mark.parametrize(
    ("grid", "what"),
    [
        (f"{FITTED}[grid]\nseed = [1, 2]", "seed"),
        (f"{FITTED}[grid]\nlayers = ['last', [1]]\ninit_seed = [1, 2]", "init_seed"),
        (f"{FITTED}[grid]\ndata_seed = [1, 2]", "data_seed"),
        (f'{FITTED}[grid]\nvariant = [{{seed = 1}}, {{seed = 2, "train.epochs" = 5}}]', "seed and train.epochs"),
        (f"{FITTED}[grid]\ntrain.learning_rate = [1e-3, 2e-3]", "train.learning_rate"),
        ("frozen = true\n[grid]\ntrain.solver = ['adam', 'logistic']\nseed = [1, 2]", "seed"),
    ],
)
def test_a_grid_that_repeats_one_fit_is_refused(grid: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(f'task = "rte"\n{grid}\n')
    with pytest.raises(
        UserError, match=f"gives the same result for every {what}. Give one {what}, without `seeds` or a"
    ):
        expand_targets([str(file)], {})


def test_a_grid_of_different_fits_is_run(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(f'task = "rte"\n{FITTED}[grid]\nlayers = ["last", [1]]\ntrain.precision = ["fp32", "bf16"]\n')
    assert len(expand_targets([str(file)], {})) == 4
    assert len(expand_targets([str(file)] * 2, {})) == 8  # the second time they are already done
    file.write_text('task = "rte"\n[grid]\nseed = [1, 2]\n')
    assert len(expand_targets([str(file)], {})) == 2
