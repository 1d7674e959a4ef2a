"""Training and prediction on a GPU: as on the CPU in fp32, and what only a GPU has: graphs, fp16, its memory."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from support.runs import DATA
from support.toys import cat_task, labelled_shapes, tag_task
from support.training import CPU, Losses, StopsAfter, build, unscored

from finetune import evaluate
from finetune.data.source import source_of
from finetune.runs.events import Watcher, unwatched
from finetune.runs.process import Interrupted
from finetune.runs.recipe import Train
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.task_types.task import Task
from finetune.training import passes
from finetune.training.passes import GraphedPasses
from finetune.training.run import run
from finetune.training.run_options import RunOptions
from finetune.training.trainer import Trainer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
GPU = torch.device("cuda")
TWENTY = Train(dropout=0.0, learning_rate=1e-3, epochs=5, batch_size=16)  # of 64 rows: 20 updates


def losses(task: Task, folder: Path, settings: Train, device: torch.device, precision: str = "fp32") -> list[float]:
    found = Losses()
    trainer, features = build(task, folder, settings, watch=found, device=device, precision=precision)
    trainer.fit(features, unscored)
    return found.values


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes of which graphs were made."""
    made, before = list[Any](), GraphedPasses._captured

    def noted(self: GraphedPasses, batch: Any, weights: Any, shape: Any) -> Any:
        made.append(shape)
        return before(self, batch, weights, shape)

    monkeypatch.setattr(GraphedPasses, "_captured", noted)
    return made


@pytest.mark.parametrize("task", labelled_shapes(), ids=lambda task: task.name)
def test_twenty_losses_are_those_of_the_cpu(task: Task, tiny_bert: Path) -> None:
    on_gpu = losses(task, tiny_bert, TWENTY, GPU)
    assert len(on_gpu) >= 20
    assert on_gpu == pytest.approx(losses(task, tiny_bert, TWENTY, CPU), rel=2e-4, abs=2e-5)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_graphs_give_the_losses_of_single_launches(
    precision: str, tiny_bert: Path, captured: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = TWENTY.model_copy(update={"dropout": 0.1})
    with_graphs = losses(cat_task(), tiny_bert, settings, GPU, precision)
    assert captured
    monkeypatch.setattr(passes, "MOST_GRAPHS", 0)
    assert with_graphs == pytest.approx(losses(cat_task(), tiny_bert, settings, GPU, precision), rel=1e-4)


def test_batches_arrive_whole_however_many_wait(tiny_bert: Path) -> None:
    """The memory of a batch is used again only after its copy has ended: the GPU is kept busy meanwhile."""
    trainer, features = build(cat_task(), tiny_bert, TWENTY, device=GPU)
    busy = torch.randn(4096, 4096, device=GPU)
    batches = list[Any]()
    for number in range(200):
        busy = (busy @ busy).tanh()
        batches.append(trainer.engine.batch(features[number % 48 : number % 48 + 16]))
    for number, batch in enumerate(batches):
        wanted = trainer.engine._collated(features[number % 48 : number % 48 + 16]).by_name()
        for name, tensor in batch.by_name().items():
            assert torch.equal(tensor.cpu(), wanted[name]), (number, name)


def test_a_bilstm_goes_without_graphs(tiny_bert: Path, captured: list[Any]) -> None:
    def found(device: torch.device) -> list[float]:
        values = Losses()
        given = {"frozen": True, "bilstm": True, "layers": [1, 2]}
        trainer, features = build(tag_task(), tiny_bert, TWENTY, watch=values, device=device, **given)
        trainer.fit(features, unscored)
        return values.values

    assert found(GPU) == pytest.approx(found(CPU), rel=2e-4)
    assert not captured


def test_fp16_skips_the_updates_that_overflow(tiny_bert: Path) -> None:
    found = Losses()
    trainer, features = build(cat_task(), tiny_bert, TWENTY, watch=found, device=GPU, precision="fp16")
    scaler = trainer.accelerator.scaler
    scaler._init_scale = 2.0**40
    trainer.fit(features, unscored)
    assert scaler.get_scale() < 2.0**40
    assert found.values[-1] < found.values[0]


def test_a_model_that_waits_for_the_gpu_goes_without_graphs(
    tiny_bert: Path, captured: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, features = build(cat_task(), tiny_bert, TWENTY, device=GPU)
    trainer.model.head.register_forward_hook(lambda _, __, output: output * float(output.isfinite().all()))
    progress, _ = trainer.fit(features, unscored)
    assert not captured
    assert progress.notes == [passes.WAITS]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_resumed_training_ends_as_an_uninterrupted_one(precision: str, tiny_bert: Path, tmp_path: Path) -> None:
    settings = TWENTY.model_copy(update={"dropout": 0.1})

    def trainer(folder: Path, watch: Watcher = unwatched) -> tuple[Trainer, Any]:
        return build(cat_task(), tiny_bert, settings, checkpoint=folder, device=GPU, precision=precision, watch=watch)

    whole, features = trainer(tmp_path / "whole")
    whole.fit(features, unscored)
    first, features = trainer(tmp_path / "parts", StopsAfter(2))
    with pytest.raises(Interrupted):
        first.fit(features, unscored)
    second, features = trainer(tmp_path / "parts")
    second.fit(features, unscored)
    for (name, one), other in zip(whole.model.state_dict().items(), second.model.state_dict().values(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.parametrize("kind", DATA)
def test_a_run_of_each_task_type(kind: str, tiny_bert: Path, tmp_path: Path) -> None:
    name, content, settings = DATA[kind]
    (tmp_path / name).write_text(content, encoding="utf-8")
    given = {"model": str(tiny_bert), "train.precision": "fp32", **settings}
    recipe, _ = starting_recipe(str(tmp_path / name), given)
    options = RunOptions(source=source_of(None), out=tmp_path / "results", device="cuda")
    record = run(resolved_run(recipe), options, watch=unwatched)
    folder = tmp_path / "results" / record.task / record.id
    written = json.loads((folder / "record.json").read_text())
    assert written["cost"]["peak_device_bytes"] > 0
    assert torch.cuda.get_device_name() in json.dumps(written)
    on_gpu, on_cpu = (evaluate(folder, tmp_path / name, device=device).scores for device in ("cuda", "cpu"))
    assert on_gpu == {split: pytest.approx(scores, abs=1e-3) for split, scores in on_cpu.items()}
