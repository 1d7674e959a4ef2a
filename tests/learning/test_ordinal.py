"""Ordered labels, learned as steps: CORN's loss, and models that are trained, saved and read again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from support.cli import InProcess
from support.toys import sentences, toy
from support.training import PLAIN, fit

import finetune
from finetune.metrics.ordinal import ordinal_metrics
from finetune.models.building import load_backbone
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.runs.record_files import load_record
from finetune.task_types.classification.head import LabelHead, corn_losses
from finetune.task_types.classification.task import SentenceRow, SentenceTask, above_chances, label_chances
from finetune.task_types.saved_predictions import run_predictions

ORDER = ("bad", "ok", "good")
LOGITS = [[1.5, -0.5, 0.25], [-2.0, 0.75, 1.0], [0.3, 0.2, -1.2], [2.2, 1.1, 0.4]]
LABELS = [2, 0, 1, 3]
OF_CORAL_PYTORCH = 0.4873650782465415  # corn_loss of these logits and labels in its authors' package, coral-pytorch 1.4


def plain_corn(logits: np.ndarray, labels: np.ndarray) -> float:
    """Equation 6 of the paper, written as loops: the mean over all binary tasks' own rows."""
    total, count = 0.0, 0
    for task in range(logits.shape[1]):
        for row, label in zip(logits, labels, strict=True):
            if label >= task:
                chance = 1 / (1 + np.exp(-row[task]))
                total -= np.log(chance if label > task else 1 - chance)
                count += 1
    return total / count


def test_the_loss_is_that_of_the_paper_but_for_its_divisor() -> None:
    logits, labels = torch.tensor(LOGITS, dtype=torch.float64), torch.tensor(LABELS)
    pairs = sum(min(label + 1, 3) for label in LABELS)
    ours = float(corn_losses(logits, labels).sum()) / pairs
    assert ours == pytest.approx(OF_CORAL_PYTORCH, abs=1e-12)
    assert ours == pytest.approx(plain_corn(logits.numpy(), labels.numpy()))


def test_the_loss_is_the_negative_logarithm_of_the_labels_probability() -> None:
    drawn = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(40, 4, generator=drawn, dtype=torch.float64)
    labels = torch.randint(0, 5, (40,), generator=drawn)
    chances = label_chances(above_chances(logits.numpy()))
    assert chances.sum(1) == pytest.approx(1)
    assert (chances >= 0).all()
    expected = -np.log(chances[np.arange(40), labels.numpy()])
    assert corn_losses(logits, labels).numpy() == pytest.approx(expected)


def rated(count: int = 64) -> list[SentenceRow]:
    """As many of two animals as the label says."""
    rows = []
    for index, text in enumerate(sentences(count, seed=5)):
        animals = ["cat"] * (index % 3) + ["dog"] * (2 - index % 3)
        rows.append(SentenceRow(id=str(index), text=" ".join([*animals, text.split()[0]]), gold=ORDER[index % 3]))
    return rows


def steps_task(**settings: Any) -> SentenceTask:
    fields = {"labels": tuple(sorted(ORDER)), "order": ORDER, "metrics": ordinal_metrics(ORDER), "ordinal": True}
    return toy(SentenceTask, rated(), name="toy-steps", **(fields | settings))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("settings", "reading"),
    [
        pytest.param(PLAIN, {}, id="whole"),
        pytest.param(PLAIN, {"lora": 4}, id="lora", marks=pytest.mark.slow),
        pytest.param(Train(learning_rate=5e-2, epochs=20, batch_size=8, dropout=0.0), {"frozen": True}, id="frozen"),
    ],
)
def test_steps_are_learned(settings: Train, reading: dict[str, Any], tiny_bert: Path) -> None:
    trainer, found, progress = fit(steps_task(), tiny_bert, settings, **reading)
    assert trainer.model.head.output.out_features == 2
    assert progress.epochs[-1].headline > 0.8
    assert all(sum(answer.probabilities) == pytest.approx(1) for answer in found.answers["dev"])
    assert steps_task().labels == ORDER  # the order of the probabilities


def test_weights_of_classes_weigh_the_rows(tiny_bert: Path) -> None:
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    head = LabelHead(backbone, ORDER[:2], kind="steps", class_weights=[1.0, 2.0, 0.5])
    logits, labels = torch.tensor(LOGITS)[:, :2], torch.tensor([2, 0, 1, 2])
    weights = torch.tensor([0.5, 1.0, 2.0, 0.5])
    assert torch.isclose(head.loss(logits, labels), (corn_losses(logits, labels) * weights).sum())


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of graded texts."""
    path = tmp_path_factory.mktemp("graded") / "graded.csv"
    path.write_text("text,opinion\n" + "".join(f"{row.text},{row.gold}\n" for row in rated(90)))
    return path


def trained(path: Path, encoder: Path, out: Path, **settings: Any) -> finetune.Run:
    given = {"model": str(encoder), "pooling": "family", "train.epochs": 12, "train.batch_size": 8}
    given |= {"train.learning_rate": 2e-3, "max_length": 16, "train.precision": "fp32", "ordinal": True}
    return finetune.train(str(path), out=out, progress=False, **(given | settings))


@pytest.fixture(scope="module")
def run(graded: Path, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> finetune.Run:
    return trained(graded, tiny_bert, tmp_path_factory.mktemp("results"))


def test_a_saved_model_gives_probabilities_and_the_median(run: finetune.Run) -> None:
    model = run.model
    assert model.labels == ORDER
    answer = model("cat cat the")
    assert answer.value == "good" and sum(answer.probabilities or ()) == pytest.approx(1)
    table = run_predictions(load_record(RunFolder(run.folder).record_file), RunFolder(run.folder), "dev")
    assert table is not None and tuple(table.names) == tuple(table.order) == ORDER
    assert list(table.classes) == list(ORDER)


def run_lines(run: finetune.Run) -> list[dict[str, Any]]:
    return list(read_lines(RunFolder(run.folder), "dev"))


def test_transformers_loads_the_same_logits_which_are_of_being_above(run: finetune.Run) -> None:
    folder = RunFolder(run.folder).model
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert model.config.id2label == {0: "above bad", 1: "above ok"}
    assert model.config.problem_type == "multi_label_classification"  # pipelines then give each its own probability
    with torch.inference_mode():
        logits = model(**tokenizer("cat dog the", return_tensors="pt")).logits.numpy()
    chances = run.model("cat dog the").probabilities
    assert label_chances(above_chances(logits))[0] == pytest.approx(chances, abs=1e-5)


def test_commands_read_a_run_of_steps(run: finetune.Run, graded: Path, in_process: InProcess, tmp_path: Path) -> None:
    folder = str(run.folder)
    code, said, _ = in_process("evaluate", folder, str(graded), "--json", data=tmp_path)
    assert code == 0 and "quadratic kappa" in said
    assert run.label_errors["label_probability"].between(0, 1).all()
    code, said, _ = in_process("explain", folder, "cat cat the", "--json", data=tmp_path)
    assert code == 0 and json.loads(said)
    page = run.report(tmp_path / "report.html").read_text()
    matrix = page[page.index("Confusion</h") :]
    assert matrix.index(">bad<") < matrix.index(">ok<") < matrix.index(">good<")


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"class_weight": "balanced"}], ids=str)
def test_a_linear_probe_solves_steps(how: dict[str, Any], graded: Path, tiny_bert: Path, tmp_path: Path) -> None:
    found = trained(
        graded, tiny_bert, tmp_path, frozen=True, layers=[2], **{"train.solver": "logistic", "pooling": "mean"}, **how
    )
    assert found.record.scores["dev"]["quadratic kappa"] > 0.5
