"""Which model predicts where an engine is asked for: of a run, an export of the same weights that its folder holds."""

from pathlib import Path

from finetune.errors import UserError, nearest
from finetune.gone import gone
from finetune.inference.exported.export_facts import is_export, read_export_facts
from finetune.inference.exported.sessions import require_onnxruntime
from finetune.models.fingerprint import fingerprint_of
from finetune.runs.folder import EXPORT, RunFolder, with_results
from finetune.runs.lookup import named_run

TORCH, ONNX = "torch", "onnx"
ENGINES = (TORCH, ONNX)


def model_for_engine(model: str, engine: str | None, *, out: Path) -> str:
    """The name of the model that predicts with an engine: `model` itself, or the export that a run's folder holds.

    By default a run predicts with torch, an export with onnx. Raises UserError for an engine that does not exist or is
    not installed, and where there is no export, or several.
    """
    if engine is None:
        return model
    if engine not in ENGINES:
        raise gone(engine) or UserError(
            f"there is no engine '{engine}'", f"{nearest(engine, [*ENGINES])}Name {' or '.join(ENGINES)}"
        )
    if is_export(model):
        facts = read_export_facts(Path(model))
        if engine == TORCH:
            raise UserError(f"{model} is an export", f"torch predicts with its run: {facts.source.run}")
        return model
    if engine == TORCH:
        return model
    require_onnxruntime()
    run = named_run(model, out)
    found = [] if run is None else exports_of(run)
    if not found:
        where = str(run.path / engine) if run else "FOLDER"
        command = with_results("export", model, "-o", where, out=out)
        raise UserError(f"{model} has no export", f"Make one, which is checked too: {command}")
    if len(found) > 1:
        raise UserError(f"{model} has {len(found)} exports", f"Name one in its place: {' and '.join(map(str, found))}")
    return str(found[0])


def exports_of(run: RunFolder) -> list[Path]:
    """The exports in a run's folder, of the weights that the run has now. Raises UserError for a damaged one."""
    weights = fingerprint_of(run.require_model())
    folders = sorted(file.parent for file in run.path.glob(f"*/{EXPORT}"))
    return [folder for folder in folders if read_export_facts(folder).source.fingerprint == weights]
