"""A finished run as bytes, which a worker sends back where the results folder is not seen by all machines."""

import hashlib
import io
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from finetune.runs.events import unwatched
from finetune.runs.folder import NEW, RECORD, RunFolder
from finetune.runs.record import RunRecord

PARTS = ("all", "scores")  # of a run: every file, or all but the model's
LEFT = ("checkpoints", NEW)


@dataclass(frozen=True, kw_only=True)
class PackedRun:
    """A run's record, and its folder as a tar archive."""

    record: RunRecord
    archive: bytes


def folder_here(out: Path) -> Path:
    """The results folder of a worker for a command whose own one is `out`: always the same, so that runs resume."""
    return Path(tempfile.gettempdir()) / "finetune-runs" / hashlib.sha256(str(out).encode()).hexdigest()[:16]


def packed_run(record: RunRecord, out: Path, *, parts: str) -> PackedRun:
    """The run of a record under `out`, as bytes."""
    folder, packing = RunFolder.of(out, record.task, record.id), io.BytesIO()
    left = LEFT if parts == "all" else (*LEFT, folder.model.name)
    with tarfile.open(fileobj=packing, mode="w") as archive:
        for file in sorted(folder.path.iterdir()):
            if not file.name.startswith(".") and file.name not in left:
                archive.add(file, arcname=file.name)
    return PackedRun(record=record, archive=packing.getvalue())


def unpack(run: PackedRun, out: Path) -> RunRecord:
    """Writes a run under `out`, its record last; a process that is killed meanwhile leaves the folder without one."""
    folder = RunFolder.of(out, run.record.task, run.record.id)
    with folder.locked(wait=True, watch=unwatched):
        new = folder.path / NEW
        new.mkdir(exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(run.archive)) as archive:
            members = sorted(archive.getmembers(), key=lambda member: member.name == RECORD)
            archive.extractall(new, members=members, filter="data")
        folder.publish()
    return run.record
