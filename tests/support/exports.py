"""The folder of an export as a command writes it, without a graph that computes."""

import shutil
from pathlib import Path

from finetune.data.checksums import write_checksums
from finetune.inference.exported.export_facts import (
    ExportCheck,
    ExportedHead,
    ExportFacts,
    ExportSource,
    MachineKind,
    ScoresOfBoth,
    write_export_facts,
)
from finetune.models.fingerprint import fingerprint_of


def export_of(run: Path, folder: Path) -> Path:
    """An export of a run whose graph is none."""
    folder.mkdir()
    shutil.copy(run / "model" / "config.json", folder)
    (folder / "model.onnx").write_bytes(b"\0graph")
    score = ScoresOfBoth(metric="macro f1", run=100.0, export=98.0, difference=-2.0)
    facts = ExportFacts(
        precision="int8", bits=7, inputs=("input_ids", "attention_mask"),
        head=ExportedHead(labels=("bad", "good"), most_tokens=64), made_for=MachineKind(machine="x86_64"),
        source=ExportSource(task="reviews.csv", run=run.name, fingerprint=fingerprint_of(run / "model")),
        check=ExportCheck(rows=8, equal=7, largest_difference=0.0123, score=score),
    )  # fmt: skip
    write_export_facts(folder, facts)
    write_checksums(folder)
    return folder
