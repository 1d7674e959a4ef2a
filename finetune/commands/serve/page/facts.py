"""What `/about` says of a model for the page: how sure it was right to be, its options, and how its form looks."""

from pathlib import Path
from typing import Any

from finetune.commands.serve.served_model import ServedModel
from finetune.errors import UserError
from finetune.inference.dev_claims import claims_with
from finetune.metrics.calibration import reliability
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.options import option_values

FEWEST_IN_BIN = 5  # dev predictions of a confidence, of fewer of which a share says nothing


def page_facts(model: ServedModel) -> dict[str, Any]:
    """JSON values: `calibration`, the options of the task (such as thresholds) by name, how many
    `contexts` come before the choices of a row, the number of the `first_choice` in predictions, the columns
    of `marked` spans, and the `check` of an export.

    `calibration` has for each tenth of confidence with dev predictions their number and the share that was right.
    """
    layout = model.predictor.layout
    return {
        "calibration": _calibration(model),
        "options": option_values(model.predictor.task),
        "contexts": 1 if layout is None else layout.contexts,
        "first_choice": _first_choice(model),
        "marked": [] if layout is None else list(layout.marked),
        "check": _check(model),
    }


def _first_choice(model: ServedModel) -> int:
    """The number of the first choice in predictions; 1 where choices have other names, or a row has none."""
    task = model.predictor.task
    name = task.named(0) if isinstance(task, ChoiceTask) else ""
    return int(name) if str(name).isdecimal() else 1


def _check(model: ServedModel) -> dict[str, Any] | None:
    """How an export answered the run's dev rows, whose scores in `/about` are the run's own; None of a run."""
    exported = model.predictor.exported
    if exported is None or exported.check is None:
        return None
    check = exported.check
    score = check.score and {"metric": check.score.metric, "run": check.score.run, "export": check.score.export}
    return {"rows": check.rows, "equal": check.equal, "score": score}


def _calibration(model: ServedModel) -> list[dict[str, Any]]:
    """Empty where it is unknown: without dev predictions, and with another temperature than theirs."""
    folder = model.predictor.folder
    if folder is None or model.predictor.temperature != 1:
        return []
    try:
        confidence, right, _ = claims_with(model.source.model, folder, out=Path(model.source.out)).arrays()
    except UserError:
        return []
    bins = reliability(confidence, right) if len(confidence) else []
    return [
        {"low": one.low, "high": one.high, "count": one.count, "accuracy": one.accuracy}
        for one in bins
        if one.count >= FEWEST_IN_BIN
    ]
