"""Several tasks that share one encoder (MT-DNN, Liu et al. 2019): the `[together]` table of a recipe, and what a record
keeps of it.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from finetune.runs.recipe_tables import LARGEST, LONGEST_NAME, Settings
from finetune.runs.whole_record import Id

MOST_TASKS = 100  # whose heads are in memory at once
Sampling = Literal["proportion", "turns"] | Annotated[float, Field(ge=0, le=1)]
PROPORTION: Sampling = "proportion"


class TaskTogether(Settings):
    """A task of several: an entry of `together.tasks`. All else of the recipe holds for every task."""

    task: str = Field(max_length=LONGEST_NAME, description="a task's name, or FILE.py:NAME, or your data")
    max_length: int | None = Field(None, ge=4, le=131_072, description="its own; default: that of the recipe")
    options: dict[str, Any] = Field({}, description="options of the task")


class Together(Settings):
    """The `[together]` table: several tasks on one encoder, a head a task, batches of one task each."""

    tasks: list[TaskTogether] = Field(
        [], max_length=MOST_TASKS, description='the tasks of one run: [{ task = "mrpc" }, { task = "stsb" }]'
    )
    sampling: Sampling = Field(
        PROPORTION,
        description="whose batch is next: proportion: each row once an epoch, as in MT-DNN; turns: one task after the "
        "other; a number: drawn by the number of rows to this power, 0 is all tasks alike",
    )
    weights: dict[str, Annotated[float, Field(gt=0, le=LARGEST)]] = Field(
        {}, max_length=MOST_TASKS, description="by task a factor of its loss; default: 1"
    )


class TrainedTogether(BaseModel):
    """The run of several tasks that one is part of: its id, all tasks, and how their batches were mixed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    run: Id
    tasks: Annotated[list[str], Field(min_length=2, max_length=MOST_TASKS)]
    sampling: Sampling = PROPORTION
    weights: dict[str, float] = {}

    @property
    def words(self) -> str:
        """`mrpc, stsb; sampling 0.5; weights mrpc 2`."""
        weights = ", ".join(f"{name} {weight:g}" for name, weight in sorted(self.weights.items()))
        facts = [", ".join(self.tasks), f"sampling {self.sampling}", f"weights {weights}" if weights else ""]
        return "; ".join(filter(None, facts))
