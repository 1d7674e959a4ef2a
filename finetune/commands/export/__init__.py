"""`finetune export`: writes a model as a graph that predicts without torch, checked against its run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from finetune.analysis.table import Next, Part, facts_table
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import model_name
from finetune.api.model import Model
from finetune.api.parameters import Cli, DataFolder
from finetune.api.run import Run
from finetune.data.atomic import require_no_link, require_place
from finetune.data.checksums import ABOUT, CHECKSUMS
from finetune.data.messages import first_of, size_words, so_many
from finetune.data.paths import exists, is_folder
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.inference.export_facts import ExportFacts, is_export
from finetune.runs.folder import EXPORT

TOLERANCE, MOST_TOLERANCE = 0.5, 100  # points of the headline that int8 may lose
MAKES_GRAPHS = ("onnx", "onnxruntime", "onnxscript")  # packages of the extra `export`
MOST_CHANGED = 10  # ids of rows that are printed


@dataclass(frozen=True, kw_only=True)
class Export:
    """What `finetune.export` returns.

    Example: `finetune.load(finetune.export(run, path="exported").folder)("the cat sat")`

    Attributes:
        folder: The folder, which is a model name like any other.
        facts: What its export.json says: the graph, its run, and the check.
        size: The bytes of its graph.
        notes: What to take into account.
    """

    folder: Path
    facts: ExportFacts
    size: int
    notes: Sequence[str]

    def __repr__(self) -> str:
        check = self.facts.check
        equal = f"{check.equal:,} of {so_many(check.rows)} answered alike" if check else "not checked"
        return f"<Export {self.folder}: {self.facts.engine} {self.facts.precision}, {equal}>"


@plainly
def export(
    model: Run | Model | str | Path,
    *,
    path: Annotated[str | Path, Cli(names=("-o", "--output"))] = "exported",
    int8: bool = False,
    tolerance: float = TOLERANCE,
    task: str | None = None,
    force: bool = False,
    data_folder: DataFolder = None,
    out: str | Path = "results",
) -> Export:
    """Writes a model as a graph, after its answers to dev were compared with the run's.

    Example: `finetune.export(run, path="exported").facts.check`

    Args:
        model: A run, a model, the name of a run, or any fine-tuned checkpoint (folder or Hub name).
        path: The folder to write.
        int8: Keep the encoder's weights in 8 bits.
        tolerance: Points of the headline that int8 may lose on dev.
        task: The task, if it is in a file (`FILE.py:NAME`), or of a checkpoint without a run.
        force: Replace an export.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        out: The folder of the runs that are named.

    Returns:
        The folder, and what its export.json says.

    Raises:
        UserError: For a model without weights or graph, for answers that are not the run's, for int8 that loses more
            than is tolerated, and for a folder that may not be written.
    """
    if not int8 and tolerance != TOLERANCE:
        raise UserError("`tolerance` is of int8 weights", "Give `int8` too, or leave it out")
    if not 0 <= tolerance <= MOST_TOLERANCE:
        raise UserError(f"`tolerance` is {tolerance}", f"Give a number of points, 0 to {MOST_TOLERANCE}")
    for package in MAKES_GRAPHS:
        if find_spec(package) is None:
            what = f"an export needs a package that is not installed ({package})"
            raise UserError(what, "Install it: pip install 'bert-finetune[export]'")
    require_new_folder(Path(path), force=force)
    name = model_name(model)
    with here().working(f"{path}: loading the model {name}") as watch:
        from finetune.commands.export.exporting import export_model

        return export_model(
            name, Path(path), tolerance=tolerance if int8 else None, force=force, task=task,
            source=source_of(data_folder), out=Path(out), watch=watch,
        )  # fmt: skip


def require_new_folder(folder: Path, *, force: bool) -> None:
    """Raises UserError where a folder cannot be written, or is there; with `force` where it is not an export."""
    require_no_link(folder)
    require_place(folder.absolute() / EXPORT if is_folder(folder) else folder)
    if not exists(folder) or (is_folder(folder) and not any(folder.iterdir())):
        return
    if not is_export(folder):
        raise UserError(f"{folder}: is there, and not an export", "Name another folder")
    if not force:
        raise UserError(f"{folder}: is an export already", "Name another folder, or replace it with `force`")
    our_files = {CHECKSUMS, EXPORT, ABOUT}
    with suppress(OSError, ValueError, TypeError):  # where the checksums are damaged, nothing else is known to be its
        our_files.update(json.loads((folder / CHECKSUMS).read_text(encoding="utf-8")))
    there = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    files = {path.relative_to(folder).as_posix() for path in there}
    if others := sorted(files - our_files):
        raise UserError(f"{folder}: has {first_of(others, 3)} too, which would be deleted", "Name another folder")


def as_json(made: Export) -> Iterator[Mapping[str, Any]]:
    """`folder`, `size` in bytes, `facts` with the `check` on dev, `notes`."""
    yield asdict(made) | {"folder": str(made.folder)}


def shown(made: Export) -> Iterator[Part]:
    """The export next to its run."""
    check = made.facts.check
    assert check is not None  # an export is checked before it is there
    facts = {"size": size_words(made.size)}
    if check.score is not None:
        facts[check.score.metric] = f"{check.score.export:.2f}, of the run {check.score.run:.2f}"
    facts["answers alike"] = f"{check.equal:,} of {check.rows:,}"
    facts["other answers"] = first_of(check.changed, MOST_CHANGED)
    facts["logits"] = f"differ by {check.largest_difference:.2g} at most"
    engine = f"{made.facts.engine} {made.facts.precision}"
    yield facts_table(f"{made.folder}: {engine}, on {so_many(check.rows)} of dev", facts)
    yield Next([["predict", str(made.folder), "FILE"]], piped=True)
