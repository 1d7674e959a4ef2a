"""What callers pass for a model or runs, as the names by which they are found."""

from pathlib import Path

from finetune.api.model import Model
from finetune.api.run import Run


def model_name(model: Run | Model | str | Path) -> str:
    """The name by which a model is found: that of a run is its folder."""
    if isinstance(model, Run):
        return str(model.folder)
    return model.name if isinstance(model, Model) else str(model)


def run_names(runs: tuple[Run | str | Path, ...]) -> list[str]:
    """The folder of each run, or the name that was given."""
    return [name for run in runs for name in (run.folders if isinstance(run, Run) else [str(run)])]
