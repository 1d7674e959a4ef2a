"""The temperature that calibration is shown with, fitted on the first split."""

from dataclasses import dataclass

from finetune.metrics.temperature import fit_temperature
from finetune.task_types.view import View


@dataclass(frozen=True, kw_only=True)
class Temperature:
    """A temperature, and the name of the rows that it was fitted on."""

    value: float
    fitted_on: str


def temperature_of(view: View) -> Temperature | None:
    """The temperature fitted on these rows; None if probabilities are not a softmax, or their order is unknown."""
    chances = view.chances()
    return None if chances is None else Temperature(value=fit_temperature(*chances), fitted_on="these rows")
