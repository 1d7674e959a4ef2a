"""A run of several tasks before it trains: each task planned and built as it would be alone, then on one encoder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from finetune.data.source import Source
from finetune.models.models_together import ModelsTogether, share_encoder
from finetune.runs.events import Watcher
from finetune.runs.recipe import Recipe
from finetune.runs.run_id import together_id
from finetune.runs.together import TrainedTogether
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.prepared_run import BuiltRun, PlannedRun, build_run, plan_run
from finetune.training.together.batches import FeaturesTogether


@dataclass(frozen=True, kw_only=True)
class PlannedTogether:
    """The recipe and name of a run of several tasks, its id, and each task's run."""

    recipe: Recipe
    name: str
    id: str
    members: Sequence[PlannedRun]

    @property
    def names(self) -> list[str]:
        """The names of the tasks."""
        return [one.task.name for one in self.members]

    @property
    def device(self) -> torch.device:
        """Where it is trained."""
        return self.members[0].device

    @property
    def precision(self) -> str:
        """What it computes in."""
        return self.members[0].precision

    @property
    def weights(self) -> list[float]:
        """The factor of each task's loss."""
        return [self.recipe.together.weights.get(name, 1.0) for name in self.names]


@dataclass(frozen=True, kw_only=True)
class BuiltTogether:
    """The models of all tasks on one encoder, and what each was built of."""

    model: ModelsTogether
    members: Sequence[BuiltRun]
    features: FeaturesTogether


def plan_together(resolved: ResolvedRun, *, source: Source, device: str | None, watch: Watcher) -> PlannedTogether:
    """Reads the rows of all tasks, and finds the encoder. Raises UserError as `plan_run` does."""
    alone = [plan_run(one, source=source, device=device, watch=watch) for one in resolved.each_alone]
    together = resolved.recipe.together
    own = together_id({one.task.name: one.id for one in alone}, together=together)
    facts = TrainedTogether(
        run=own, tasks=[one.task.name for one in alone], sampling=together.sampling, weights=together.weights
    )
    members = [replace(one, together=facts) for one in alone]
    return PlannedTogether(recipe=resolved.recipe, name=resolved.task.name, id=own, members=members)


def build_together(planned: PlannedTogether, watch: Watcher) -> BuiltTogether:
    """Builds the models and encodes the rows. Raises UserError as `build_run` does, and where encoders differ."""
    built = [build_run(one, watch) for one in planned.members]
    model = share_encoder([one.model for one in built], planned.names)
    trained = [one.features[own.task.train_split] for one, own in zip(built, planned.members, strict=True)]
    features = FeaturesTogether(trained, rows=[len(one.train_rows) for one in planned.members])
    return BuiltTogether(model=model, members=built, features=features)
