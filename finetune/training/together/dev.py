"""The scores on dev of several tasks that share an encoder: each task's headline, and their mean, by which the epoch is
chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from finetune.inference.engine import Engine
from finetune.metrics.metric import Metric
from finetune.metrics.scores import Scores
from finetune.models.models_together import ModelsTogether
from finetune.runs.events import EpochResult
from finetune.training.evaluation import DevEvaluation, Evaluated

MEAN = Metric("mean")
SPLIT = "dev"  # of the first dev split of each task


@dataclass(frozen=True, kw_only=True)
class EvaluatedTogether:
    """Predictions and scores of each task; `names` are the tasks'."""

    names: Sequence[str]
    found: Sequence[Evaluated]
    loss: float | None = None

    @property
    def metrics(self) -> Sequence[Metric]:
        """The mean, and each task's headline."""
        return [MEAN, *(headline_of(name, one) for name, one in zip(self.names, self.found, strict=True))]

    @property
    def headline(self) -> float:
        """The mean of the headline scores on the first dev split of each task."""
        return fmean(one.headline for one in self.found)

    @property
    def headlines(self) -> Scores:
        """The mean and each task's headline score."""
        return {SPLIT: mean_and_each([one.headline for one in self.found], self.metrics)}

    @property
    def scores(self) -> Scores:
        """The headlines, and every score of each task as `mrpc/dev/accuracy`, for its own curves by epoch."""
        every = {
            f"{name}/{split}/{metric}": score
            for name, one in zip(self.names, self.found, strict=True)
            for split, scores in one.scores.items()
            for metric, score in scores.items()
        }
        return {SPLIT: self.headlines[SPLIT] | every}


@dataclass(frozen=True, kw_only=True)
class DevTogether:
    """Predicts and scores the dev splits of each task with its own model."""

    names: Sequence[str]
    each: Sequence[DevEvaluation]

    def __call__(self, engine: Engine) -> EvaluatedTogether:
        """Predicts and scores; each task chooses its own options."""
        found = [dev(own) for dev, own in zip(self.each, own_engines(engine), strict=True)]
        return EvaluatedTogether(names=self.names, found=found)


def own_engines(engine: Engine) -> list[Engine]:
    """The engine of each task's own model."""
    assert isinstance(engine.model, ModelsTogether)
    return [replace(engine, model=model) for model in engine.model.members]


def headline_of(name: str, found: Evaluated) -> Metric:
    """The headline metric of a task under the name `mrpc f1`."""
    return replace(found.metrics[0], name=f"{name} {found.metrics[0].name}")


def mean_and_each(headlines: Sequence[float], metrics: Sequence[Metric]) -> dict[str, float]:
    """The mean of headline scores and each of them, by the names of `metrics`, of which the first is the mean."""
    return dict(zip((metric.name for metric in metrics), [fmean(headlines), *headlines], strict=True))


def epochs_of(name: str, headline: str, epochs: Sequence[EpochResult]) -> list[EpochResult]:
    """The epochs of one task: its own scores, with the loss of all tasks."""
    found = []
    for epoch in epochs:
        scores = _own(name, epoch.scores[SPLIT])
        first = next(iter(scores.values()))
        found.append(replace(epoch, headline=first[headline], scores=scores))
    return found


def _own(name: str, scores: Mapping[str, float]) -> Scores:
    """The scores of a task by split and metric, of those of all as `EvaluatedTogether.scores` has them."""
    found: Scores = {}
    for key, score in scores.items():
        if key.startswith(f"{name}/"):
            split, _, metric = key.removeprefix(f"{name}/").partition("/")
            found.setdefault(split, {})[metric] = score
    return found
