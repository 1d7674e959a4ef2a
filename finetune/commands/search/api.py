"""`finetune.search`: settings tried by Optuna, and the best of them scored honestly."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.callbacks import Callback, watcher_of
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.commands.search.space import GivenSpace, plan_search
from finetune.data.messages import so_many
from finetune.data.source import source_of
from finetune.metrics.metric import Metric
from finetune.runs.recipe import Recipe
from finetune.runs.seeds import Summary
from finetune.storage.stored import STORE
from finetune.training.run_options import RunOptions

if TYPE_CHECKING:
    import pandas as pd

TRIALS, SEEDS = 30, 3  # defaults


@dataclass(frozen=True, kw_only=True)
class Search:
    """A finished search: what `finetune.search` returns.

    Example: `found.trials`, `found.best.to_toml()`, `found.run.model`

    Attributes:
        trials: A row for each trial, the best first and failed ones last: its settings, then `mean`, `sd` and `n` of
            the headline score over its seeds as computed, and `failure`.
        settings: The best settings.
        best: The recipe with the best settings, without seeds of its own and without held-out rows.
        run: The finished runs of the best settings, one a seed.
        metric: The headline metric.
        summary: The best settings' score on the first split over their seeds.
        held_out: Their score over the seeds on training rows that no trial saw; None without `test_share`.
        winners: The number of trials that these rows have scored so far, 1 unless the search was continued.
    """

    trials: "pd.DataFrame"
    settings: Mapping[str, Any]
    best: Recipe
    run: Run
    metric: Metric
    summary: Summary
    held_out: Summary | None
    winners: int

    @property
    def sentence(self) -> str:
        """The best settings, their score, and the score on held-out rows."""
        text = f"best of {so_many(len(self.trials), 'trial')}: {plain_settings(self.settings)}, with "
        text += f"{self.run.record.first_split} {self.metric.name} {self._shown(self.summary)}"
        if self.held_out is None:
            text += ", a little too good, since it was chosen by it"
        else:
            text += f"; {self._shown(self.held_out)} on held-out training rows"
        return text + f", which have now scored {self.winners} winners" * (self.winners > 1)

    def _shown(self, summary: Summary) -> str:
        sd = "" if summary.sd is None else f", sd {self.metric.shown(summary.sd)}"
        return f"{self.metric.shown(summary.mean)} ({so_many(summary.n, 'seed')}{sd})"

    def __repr__(self) -> str:
        return f"<Search of {self.best.task}: {self.sentence}>"


def plain_settings(settings: Mapping[str, Any]) -> str:
    """Settings as they are written in a command: `train.learning_rate=2.5e-05, frozen=true`."""
    return ", ".join(f"{key}={plain_setting(value)}" for key, value in settings.items())


def plain_setting(value: Any) -> str:
    """A setting as it is written in a command: `2.5e-05`, `true`."""
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}" if isinstance(value, float) else str(value)


@plainly
def search(
    data: Any,
    *,
    space: GivenSpace = None,
    trials: int = TRIALS,
    seeds: int = SEEDS,
    test_share: float = 0.0,
    text: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    model: str | Path | None = None,
    out: str | Path = "results",
    data_folder: str | Path | None = None,
    device: str | None = None,
    progress: bool | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    **settings: Any,
) -> Search:
    """Searches settings with Optuna. The same call trains nothing again, a stopped one resumes, and more `trials`
    continue it.

    Example: `finetune.search("glue-rte", space={"train.learning_rate": {"low": 1e-5, "high": 1e-4, "log": True}})`

    Args:
        data: Rows in memory, a data file or folder, or a recipe's name or file, as for `finetune.train`.
        space: For each setting a range (`low`, `high`, `log`, `step`) or a list of values; or a file of them, or the
            name of a ready one: `fine-tuning`, `lora`, `frozen`. Default: the recipe's grid, else the one that fits.
        trials: The number of settings to try, those of an earlier call included.
        seeds: The runs of each; a trial's value is their mean score.
        test_share: The share of the training rows that is held out from all trials; the winner is scored on it.
        text: The column of the text, or the columns of several.
        label: The column of the label, or for several labels a row their columns.
        model: A Hub name, a folder, or `minilm`.
        out: The folder of runs.
        data_folder: The folder with the data sets of tasks.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        progress: Whether to show a line of progress; default: in a notebook only.
        callbacks: As for `finetune.train`.
        **settings: Settings of the recipe, which all trials share.

    Returns:
        The trials as a table, the best recipe, its runs, and what its score is worth.

    Raises:
        UserError: Whatever the caller can fix: data, space, settings; and where no trial has a score.
        KeyboardInterrupt: After Ctrl-C, once a checkpoint is saved: the same call resumes there.
    """
    options = RunOptions(source=source_of(data_folder), out=Path(out), device=device)
    wanted = recipe_settings(settings, text=text, label=label, model=model)
    watch = watcher_of(progress, callbacks)
    with quiet():
        with nullcontext(data) if is_path(data) else in_memory(data, options.out / STORE) as path:
            plan = plan_search(str(path), wanted, space, out=options.out)
        from finetune.commands.search.study import execute_search  # torch

        return execute_search(plan, options, trials=trials, seeds=seeds, test_share=test_share, watch=watch)
