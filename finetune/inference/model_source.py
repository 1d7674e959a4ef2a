"""How a model is loaded, in plain values that another process can be told."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.inference.asked import NOTHING, AskedAnswers
from finetune.runs.events import Watcher, unwatched
from finetune.task_types.registry import find

if TYPE_CHECKING:
    from finetune.inference.predictor import Predictor


@dataclass(frozen=True, kw_only=True)
class ModelSource:
    """How a model is loaded in any process: its name, and `task`, folder of runs, device, `temperature` as
    given, and what it is `asked` to leave unanswered.
    """

    model: str
    task: str | None = None
    out: str = "results"
    device: str | None = None
    temperature: Any = None
    asked: AskedAnswers = NOTHING

    def load(self, *, watch: Watcher = unwatched) -> "Predictor":
        """The predictor. Needs torch. Raises UserError as `load` and `with_dev_temperature` do."""
        from finetune.inference.predictor import load_predictor
        from finetune.inference.temperature import with_dev_temperature
        from finetune.inference.thresholds import with_unsure

        task = None if self.task is None else find(self.task)
        found = load_predictor(self.model, task=task, out=self.out, watch=watch, device=self.device)
        if self.temperature is not None:
            found = with_dev_temperature(found, self.model, self.temperature, out=Path(self.out))
        return with_unsure(found, self.model, self.asked, out=Path(self.out)) if self.asked else found
