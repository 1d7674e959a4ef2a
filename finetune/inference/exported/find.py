"""Which model predicts where an engine is asked for: of a run, an export of the same weights that its folder holds."""

from pathlib import Path

from finetune.errors import UserError, nearest
from finetune.inference.exported.export_facts import ExportFacts, is_export, read_export_facts
from finetune.inference.exported.sessions import PACKAGES, require_engine
from finetune.models.fingerprint import fingerprint_of
from finetune.runs.folder import EXPORT, RunFolder, with_results
from finetune.runs.lookup import named_run

TORCH = "torch"
ENGINES = (TORCH, *PACKAGES)


def model_for_engine(model: str, engine: str | None, *, out: Path) -> str:
    """The name of the model that predicts with an engine: `model` itself, or the export that a run's folder holds.

    By default a run predicts with torch, an export with its own engine. Raises UserError for an engine that does not
    exist or is not installed, and where there is no export for it, or several.
    """
    if engine is None:
        return model
    if engine not in ENGINES:
        raise UserError(f"there is no engine '{engine}'", f"{nearest(engine, [*ENGINES])}Name {', '.join(ENGINES)}")
    if is_export(model):
        return _same(model, engine)
    if engine == TORCH:
        return model
    require_engine(engine)
    run = named_run(model, out)
    where = str(run.path / engine) if run else "FOLDER"
    found = [] if run is None else exports_of(run, engine)
    if not found:
        command = with_results("export", model, "--engine", engine, "-o", where, out=out)
        raise UserError(
            f"{model} has no export for {engine}",
            f"Make one, which is checked too: {command}",
        )
    if len(found) > 1:
        names = " and ".join(str(folder) for folder, _ in found)
        raise UserError(f"{model} has {len(found)} exports for {engine}", f"Name one in its place: {names}")
    return str(found[0][0])


def exports_of(run: RunFolder, engine: str) -> list[tuple[Path, ExportFacts]]:
    """The exports in a run's folder, for an engine and of the weights that the run has now.

    Raises UserError for a damaged one.
    """
    weights = fingerprint_of(run.require_model())
    folders = sorted(file.parent for file in run.path.glob(f"*/{EXPORT}"))
    read = [(folder, read_export_facts(folder)) for folder in folders]
    return [(folder, one) for folder, one in read if (one.engine, one.source.fingerprint) == (engine, weights)]


def _same(model: str, engine: str) -> str:
    """The export. Raises UserError where it is for another engine."""
    facts = read_export_facts(Path(model))
    if engine == TORCH:
        raise UserError(f"{model} is an export for {facts.engine}", f"torch predicts with its run: {facts.source.run}")
    if engine != facts.engine:
        way = f"Export its run for {engine}: finetune export {facts.source.run} --engine {engine} -o FOLDER"
        raise UserError(f"{model} is an export for {facts.engine}", way)
    return model
