"""The temperature that the calibration of each split is shown with: fitted on the first split."""

from dataclasses import dataclass

from finetune.metrics.temperature import fit_temperature
from finetune.task_types.view import View


@dataclass(frozen=True, kw_only=True)
class Temperature:
    """Its value, and the rows that it was fitted on, in words."""

    value: float
    fitted_on: str


def temperature_of(view: View) -> Temperature | None:
    """The best one for these rows; None where probabilities are no softmax, or their order is not known."""
    chances = view.chances()
    return None if chances is None else Temperature(value=fit_temperature(*chances), fitted_on="these rows")
