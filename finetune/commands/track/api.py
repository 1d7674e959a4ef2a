"""Finished runs to trackers: what `finetune track` calls."""

from collections.abc import Sequence

from finetune.runs.folder import RunFolder


def send_runs(folders: Sequence[RunFolder], to: Sequence[str]) -> dict[str, list[str]]:
    """Sends finished runs to trackers, with names that `tracker_names` has returned; the problems by run id.

    Raises UserError for a damaged record. Needs torch.
    """
    from accelerate import PartialState

    from finetune.training.tracking.tracking import send_finished

    PartialState(cpu=True)  # without which the trackers of Accelerate cannot log
    return {folder.path.name: send_finished(folder, to) for folder in folders}
