"""The folder of an export of a finished run, with a graph that computes."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from finetune.commands.export.graph import graph_inputs, write_graph
from finetune.data.checksums import write_checksums
from finetune.inference.export_facts import (
    ExportedHead,
    ExportFacts,
    ExportSource,
    write_export_facts,
)
from finetune.inference.predictor import load_predictor
from finetune.models.families import most_tokens
from finetune.models.head import EncoderWithHead
from support.runs import FinishedRun


@pytest.fixture(scope="session")
def exported_run(shared: Path, finished_run: FinishedRun) -> FinishedRun:
    """The folder of an export of the run of a task type, which must stay as it is."""

    def of(kind: str) -> Path:
        run, folder = finished_run(kind), shared / f"export-{kind.replace(' ', '-')}"
        with FileLock(f"{folder}.lock"):
            if not (folder / "checksums.json").is_file():
                shutil.rmtree(folder, ignore_errors=True)
                write_export(run, folder)
        return folder

    return of


def write_export(run: Path, folder: Path) -> None:
    """An export of a run, which no one has checked."""
    predictor = load_predictor(run)
    shutil.copytree(run / "model", folder, ignore=shutil.ignore_patterns("*.safetensors", "checksums.json"))
    (folder / "onnx").mkdir()
    facts = with_graph(predictor.torch_engine.model, folder / "onnx" / "model.onnx")
    source = ExportSource(task=run.parent.name, run=run.name, fingerprint=predictor.fingerprint)
    write_export_facts(folder, exported_facts(facts, source))
    write_checksums(folder)


def exported_facts(graph: dict[str, Any], source: ExportSource | None = None) -> ExportFacts:
    """What the folder of an export says; of no graph, of one of a text's logits."""
    given = graph or {
        "inputs": ("input_ids", "attention_mask"),
        "head": ExportedHead(labels=("no", "yes"), most_tokens=128),
    }
    own = source or ExportSource(task="toy", run="run", fingerprint="abc")
    return ExportFacts(**given, source=own)


def with_graph(model: EncoderWithHead, file: Path) -> dict[str, Any]:
    """Writes a model's graph, and returns what its folder says of it."""
    write_graph(model, file)
    return {
        "inputs": graph_inputs(model),
        "head": ExportedHead(
            labels=model.head.labels,
            by_position=model.by_position,
            most_tokens=most_tokens(model.backbone.encoder),
        ),
    }
