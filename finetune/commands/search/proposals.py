"""What Optuna proposes next: its Tree-structured Parzen Estimator (Bergstra et al. 2011), seeded, in memory."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from finetune.commands.search.space import Choices, Dimension, Space
from finetune.errors import UserError

if TYPE_CHECKING:
    import optuna

TRIES = 100  # proposals in a row that were tried already, after which there is no new one


class Proposals:
    """A study of Optuna. Proposals are a function of the seed and of what was told, in its order."""

    def __init__(self, space: Space, *, greater_is_better: bool, seed: int) -> None:
        self.optuna = _imported()
        self.space = space
        sampler = self.optuna.samplers.TPESampler(seed=seed % 2**32)
        direction = "maximize" if greater_is_better else "minimize"
        # In memory: a journal would know of trials what runs do not (docs/decisions, 2026-11-25).
        self.study = self.optuna.create_study(sampler=sampler, direction=direction)
        self.distributions = {key: self._distribution(axis) for key, axis in space.items()}
        self.under_way: dict[str, optuna.Trial] = {}
        self.told: dict[str, float | None] = {}

    def ask(self, settings: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Settings to try next, or those given, which are then under way; None where no new ones are proposed."""
        for _ in range(TRIES):
            if settings is not None:
                self.study.enqueue_trial(self._params(settings))
            trial = self.study.ask(self.distributions)
            found = {key: self._value(key, given) for key, given in trial.params.items()} | dict(settings or {})
            key = key_of(found)
            if key not in self.under_way and key not in self.told:
                self.under_way[key] = trial
                return found
            self._end(trial, self.told.get(key))
        return None

    def tell(
        self, settings: Mapping[str, Any], value: float | None, *, by_epoch: Mapping[int, float], pruned: bool
    ) -> None:
        """What became of settings that are under way: their mean score, None if they failed; pruned at an epoch."""
        key = key_of(settings)
        trial = self.under_way.pop(key)
        for epoch, score in by_epoch.items():
            trial.report(score, epoch)
        if pruned:
            self.study.tell(trial, state=self.optuna.trial.TrialState.PRUNED)
        else:
            self._end(trial, value)
        self.told[key] = None if pruned else value

    def tell_known(self, settings: Mapping[str, Any], value: float) -> None:
        """The mean score of settings that were not proposed here."""
        self.study.add_trial(
            self.optuna.trial.create_trial(params=self._params(settings), distributions=self.distributions, value=value)
        )
        self.told[key_of(settings)] = value

    def _end(self, trial: "optuna.Trial", value: float | None) -> None:
        if value is None:
            self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(trial, value)

    def _distribution(self, axis: Dimension) -> Any:
        kinds = self.optuna.distributions
        if isinstance(axis, Choices):
            return kinds.CategoricalDistribution([json.dumps(value) for value in axis.values])
        if axis.whole:
            return kinds.IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=int(axis.step or 1))
        return kinds.FloatDistribution(axis.low, axis.high, log=axis.log, step=axis.step)

    def _params(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: json.dumps(settings[key]) if isinstance(axis, Choices) else settings[key]
            for key, axis in self.space.items()
        }

    def _value(self, key: str, given: Any) -> Any:
        """A parameter as a setting; numbers have four digits, which are what is shown and written."""
        axis = self.space[key]
        if isinstance(axis, Choices):
            return json.loads(given)
        if axis.whole or axis.step is not None:
            return given
        return min(max(float(f"{given:.4g}"), axis.low), axis.high)


def key_of(settings: Mapping[str, Any]) -> str:
    """A key that is equal for equal settings."""
    return json.dumps(dict(settings), sort_keys=True)


def _imported() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UserError(
            "a search needs a package that is not installed (optuna)", "pip install 'bert-finetune[search]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
