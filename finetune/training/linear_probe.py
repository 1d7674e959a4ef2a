"""The linear probe: a baseline that reads the encoder as it was before training, where rows are few.

It is what `frozen=true train.solver=logistic pooling=unit` trains, in the time of one pass over the rows.
"""

from typing import Any

from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.text_vector import FAMILY, FEW_ROWS, UNIT
from finetune.runs.events import Working, unwatched
from finetune.runs.recipe import Recipe, is_new
from finetune.runs.recipe_tables import Train
from finetune.training.evaluation import Answers, DevEvaluation
from finetune.training.logistic import fit_output, require_linear
from finetune.training.prepared_run import BuiltRun, PlannedRun

NAME = "linear-probe"


def linear_probe(planned: PlannedRun, built: BuiltRun, every: DevEvaluation, engine: Engine) -> Answers:
    """By split, the predictions of a linear head on the mean vector of a text at length 1, or on the vectors of words.

    Empty where there are many rows, for tasks that a linear layer cannot be fitted to, and where the run itself is one.
    """
    probe = probe_engine(planned, built, engine)
    if probe is None:
        return {}
    engine.watch(Working("fitting a linear probe, as a baseline"))
    fit_output(probe, built.features[planned.task.train_split])
    return every(probe).answers


def probe_engine(planned: PlannedRun, built: BuiltRun, engine: Engine) -> Engine | None:
    """The model of the probe before it is fitted; None where `linear_probe` is empty."""
    recipe = planned.recipe
    if len(planned.train_rows) >= FEW_ROWS or is_new(recipe.model) or recipe.train.solver == "logistic":
        return None
    settings: dict[str, Any] = {"pooling": UNIT if built.model.pooled else FAMILY}
    train = Train(solver="logistic", precision=recipe.train.precision)
    read = Recipe(task=recipe.task, model=recipe.model, frozen=True, train=train, **settings)
    model, _ = build_model(
        planned.weights.folder, planned.task.head, read, device=planned.device, tokens=planned.tokens
    )
    try:
        require_linear(model, frozen=True)
    except UserError:
        return None
    return Engine(model=model, accelerator=engine.accelerator, pad_id=engine.pad_id, watch=unwatched)
