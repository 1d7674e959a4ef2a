"""`finetune.export`: a trained model as a graph that predicts without torch, checked against its run."""

from pathlib import Path

from finetune.api.inputs import model_name
from finetune.api.model import Model
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.commands.export.plan import TOLERANCE, Export, require_export
from finetune.data.source import source_of
from finetune.runs.events import unwatched


@plainly
def export(
    model: Run | Model | str | Path,
    path: str | Path,
    *,
    int8: bool = False,
    tolerance: float = TOLERANCE,
    task: str | None = None,
    data_folder: str | Path | None = None,
    out: str | Path = "results",
    force: bool = False,
) -> Export:
    """Writes a model as a graph, after its answers to dev were compared with the run's.

    Example: `finetune.export(run, "exported").facts.check`

    Args:
        model: A run, a model, the name of a run, or any fine-tuned checkpoint (folder or Hub name).
        path: The folder to write.
        int8: Keep the encoder's weights in 8 bits.
        tolerance: The points of the headline that int8 may lose on dev.
        task: The task, if it is in a file (`FILE.py:NAME`), or of a checkpoint without a run.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        out: The folder of the runs that are named.
        force: Replace an export.

    Returns:
        The folder, what its export.json says, and the rows with another answer.

    Raises:
        UserError: For a model without weights or graph, for answers that are not the run's, for int8 that loses more
            than is tolerated, and for a folder that may not be written.
    """
    require_export(Path(path), int8=int8, tolerance=tolerance, force=force)
    with quiet():
        from finetune.commands.export.exporting import export_model

        return export_model(
            model_name(model), Path(path), tolerance=tolerance if int8 else None, force=force, task=task,
            source=source_of(data_folder), out=Path(out), watch=unwatched,
        )  # fmt: skip
