"""Finished runs to trackers: what `finetune track` calls."""

from collections.abc import Sequence
from pathlib import Path

from finetune.runs.lookup import require_run


def track(runs: Sequence[str], to: Sequence[str], *, out: Path) -> dict[str, list[str]]:
    """Sends finished runs to trackers, with names that `tracker_names` has returned; the problems by run id.

    Raises UserError for a name without a run, before anything is sent, and for a damaged record. Needs torch.
    """
    from accelerate import PartialState

    from finetune.training.tracking.tracking import send_finished

    folders = [require_run(name, out) for name in runs]
    PartialState(cpu=True)  # without which the trackers of Accelerate cannot log
    return {folder.path.name: send_finished(folder, to) for folder in folders}
