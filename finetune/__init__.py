"""Fine-tune BERT-family encoders: one command from a task to a model, its scores and every prediction."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from finetune.inference.predictor import Predictor

__version__ = "0.1.0"


def load(
    model: str | Path, *, task: str | None = None, out: str | Path = "results", device: str | None = None
) -> "Predictor":
    """Loads a trained model: `finetune.load("squad-v1")(question, context)`; see `finetune.inference.predictor`.

    `model` is a run's folder, a prefix of its id, or a task (its latest run); or any fine-tuned checkpoint (folder or
    Hub name), which needs `task`. So does a task in a file (`task="FILE.py:NAME"`), since its code is executed.
    Raises UserError if the model or its task is not found.
    """
    from finetune.inference import predictor  # which takes seconds to import
    from finetune.task_types import registry

    return predictor.load(model, task=None if task is None else registry.find(task), out=out, device=device)
