"""A small graph of a model, and the folder of an export around it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from torch import Tensor, nn

from finetune.data.checksums import write_checksums
from finetune.inference.exported.export_facts import (
    ExportedHead,
    ExportFacts,
    ExportSource,
    Input,
    write_export_facts,
)
from finetune.inference.exported.this_machine import this_machine
from finetune.inference.predictor import Predictor, load_predictor
from finetune.models.families import most_tokens, takes_segments
from finetune.models.model import EncoderWithHead
from support.runs import FinishedRun

SEQUENCES, LENGTH = 3, 7  # of the example that is traced: unlike any other size in it


class AsGraph(nn.Module):
    """A model as a function of tensors by name."""

    def __init__(self, model: EncoderWithHead, inputs: tuple[Input, ...]) -> None:
        super().__init__()
        self.model, self.names = model, inputs

    def forward(self, *tensors: Tensor) -> Any:
        logits = self.model(**dict(zip(self.names, tensors, strict=True)))
        return tuple(logits.values()) if isinstance(logits, dict) else logits


@pytest.fixture(scope="session")
def exported_run(shared: Path, finished_run: FinishedRun) -> FinishedRun:
    """The folder of an export of the run of a task type, which must stay as it is."""

    def of(kind: str) -> Path:
        run, folder = finished_run(kind), shared / f"export-{kind.replace(' ', '-')}"
        with FileLock(f"{folder}.lock"):
            if not (folder / "checksums.json").is_file():
                shutil.rmtree(folder, ignore_errors=True)
                export_predictor(load_predictor(run), folder, task=run.parent.name, run=run.name)
        return folder

    return of


def export_predictor(predictor: Predictor, folder: Path, *, task: str = "task", run: str = "run") -> Path:
    """The folder of an export of a predictor's model."""
    source = predictor.folder
    assert source is not None
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors", "checksums.json"))
    graph = write_graph(predictor.torch_engine.model, folder)
    own = ExportSource(task=task, run=run, fingerprint=predictor.fingerprint, temperature=1.5)
    write_export_facts(folder, exported_facts(graph, own))
    write_checksums(folder)
    return folder


def exported_facts(graph: dict[str, Any], source: ExportSource | None = None) -> ExportFacts:
    """What the folder of an export says; of no graph, of one of a text's logits."""
    given = graph or {
        "engine": "onnx",
        "inputs": ("input_ids", "attention_mask"),
        "head": ExportedHead(labels=("no", "yes"), most_tokens=128),
    }
    own = source or ExportSource(task="toy", run="run", fingerprint="abc")
    return ExportFacts(**given, source=own, made_for=this_machine())


def write_graph(model: EncoderWithHead, folder: Path) -> dict[str, Any]:
    """Writes model.onnx, and returns what its folder says of the graph."""
    head, encoder = model.head, model.backbone.encoder
    inputs: list[Input] = ["input_ids", "attention_mask"]
    inputs += ["token_type_ids"] * takes_segments(encoder.config)  # type: ignore[list-item]
    inputs += ["positions"] * bool(head.joins or head.vocabulary)  # type: ignore[list-item]
    outputs = ("logits", "next") if len(head.inputs) == 2 else ("logits",)
    ids = torch.randint(5, 20, (SEQUENCES, LENGTH))
    given = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
        "positions": torch.tensor([[1, 2]] * SEQUENCES),
    }
    batch, length, reads = (torch.export.Dim.DYNAMIC,) * 3
    reads = 2 if head.joins else reads
    axes = [{0: batch, 1: reads if name == "positions" else length} for name in inputs]
    program = torch.onnx.export(
        AsGraph(model.eval(), tuple(inputs)),
        tuple(given[name] for name in inputs),
        dynamo=True,
        dynamic_shapes=(tuple(axes),),
        input_names=list(inputs),
        output_names=list(outputs),
        verbose=False,
    )
    assert program is not None
    program.save(folder / "model.onnx", external_data=False)
    return {
        "engine": "onnx",
        "inputs": tuple(inputs),
        "outputs": outputs,
        "head": ExportedHead(
            labels=head.labels,
            by_position=model.by_position,
            vocabulary=head.vocabulary,
            most_tokens=most_tokens(encoder),
            padded_up_to=model.backbone.padded_up_to,
        ),
    }
