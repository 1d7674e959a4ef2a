"""`finetune search`: settings tried by Optuna, and the best of them scored honestly."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from finetune.analysis.table import Line, Next, NoteLine, Part, TextTable
from finetune.api.callbacks import Callback
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.parameters import PYTHON, SETTING, Cli, Columns, DataFolder
from finetune.api.planning import loading
from finetune.api.run import Run
from finetune.commands.search.space import GivenSpace, plan_search
from finetune.data.atomic import output_file, require_replaceable_output
from finetune.data.messages import so_many
from finetune.data.paths import STORE
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.runs.recipe import Recipe
from finetune.runs.seeds import Summary
from finetune.training.run_options import RunOptions

if TYPE_CHECKING:
    import pandas as pd


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
        path: The file of the best recipe, if it was written.
    """

    trials: "pd.DataFrame"
    settings: Mapping[str, Any]
    best: Recipe
    run: Run
    metric: Metric
    summary: Summary
    held_out: Summary | None
    winners: int
    path: Path | None = None

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
    return ", ".join(f"{key}={_plain(value)}" for key, value in settings.items())


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}" if isinstance(value, float) else str(value)


@plainly
def search(
    *targets: Annotated[Any, Cli(least=1, recipes=True)],
    space: Annotated[GivenSpace, PYTHON] = None,
    trials: Annotated[int, Cli(least=1)] = 30,
    seeds: Annotated[int, Cli(least=1)] = 3,
    test_share: float = 0.0,
    text: Columns = None,
    label: Columns = None,
    model: Annotated[str | Path | None, SETTING] = None,
    path: Annotated[str | Path | None, Cli(names=("-o", "--output"), default="best.toml")] = None,
    force: bool = False,
    out: str | Path = "results",
    data_folder: DataFolder = None,
    device: str | None = None,
    progress: Annotated[bool | None, PYTHON] = None,
    callbacks: Annotated[Callback | Iterable[Callback], PYTHON] = (),
    **settings: Any,
) -> Search:
    """Searches settings with Optuna. The same call trains nothing again, a stopped one resumes, and more `trials`
    continue it.

    Example: `finetune.search("glue-rte", space={"train.learning_rate": {"low": 1e-5, "high": 1e-4, "log": True}})`

    Args:
        *targets: A data file or folder, or a recipe (name or file), from Python rows in memory too; then a space (file
            or name), and settings as key=value, which all trials share.
        space: For each setting a range (`low`, `high`, `log`, `step`) or a list of values; or a file of them, or the
            name of a ready one: `fine-tuning`, `lora`, `frozen`. Default: the recipe's grid, else the one that fits.
        trials: Try N settings, those of an earlier search included.
        seeds: Run N seeds of each; a trial's value is their mean score.
        test_share: Hold out this share of the training rows from all trials, and score the winner on it.
        text: The column of the text, or the columns of several.
        label: The column of the label, or for several labels a row their columns.
        model: A Hub name, a folder, or `minilm`.
        path: Write the best recipe to this file.
        force: Replace a file that this command did not write.
        out: The folder of runs.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        progress: Whether to show a line of progress; default: in a notebook only.
        callbacks: As for `finetune.run`.
        **settings: Settings of the recipe, which all trials share.

    Returns:
        The trials as a table, the best recipe, its runs, and what its score is worth.

    Raises:
        UserError: Whatever the caller can fix: data, space, settings; and where no trial has a score.
        KeyboardInterrupt: After Ctrl-C, once a checkpoint is saved: the same call resumes there.
    """
    if not 1 <= len(targets) <= 2 - (space is not None):
        raise UserError(f"search takes a recipe and a space, not {so_many(len(targets), 'name')}", "Give one recipe")
    data, *spaces = targets
    options = RunOptions(source=source_of(data_folder), out=Path(out), device=device)
    if path is not None:
        reads = [str(target) for target in targets if is_path(target)]
        require_replaceable_output(Path(path), endings=[".toml"], reads=reads, force=force)
    chosen = recipe_settings(settings, text=text, label=label, model=model)
    with nullcontext(data) if is_path(data) else in_memory(data, options.out / STORE) as file:
        plan = plan_search(str(file), chosen, *spaces or [space], out=options.out)
    with here().working(loading([plan.base]), progress=progress, callbacks=callbacks) as watch:
        from finetune.commands.search.study import execute_search  # torch

        result = execute_search(plan, options, trials=trials, seeds=seeds, test_share=test_share, watch=watch)
    if path is None:
        return result
    head = f"# finetune run {path} --seeds {seeds}\n# {' '.join(result.sentence.split())}\n"
    with output_file(Path(path), remedy="Name another file with `path`") as scratch:
        scratch.write_text(head + result.best.to_toml(), encoding="utf-8")
    return replace(result, path=Path(path))


def as_json(result: Search) -> Iterator[Mapping[str, Any]]:
    """`trials`: settings, `mean`, `sd`, `n`, `failure`; `best` settings, `runs` of them, score on `held_out` rows,
    `sentence`.
    """
    yield {
        "trials": json.loads(result.trials.to_json(orient="records")),
        "best": result.settings,
        "runs": [record.id for record in result.run.records],
        "held_out": None if result.held_out is None else result.held_out.mean,
        "sentence": result.sentence,
    }


def shown(result: Search) -> Iterator[Part]:
    """The trials, and what the score of the best is worth."""
    digits, rows = result.metric.shown, list[Sequence[str]]()
    for *settings, mean, sd, count, failure in result.trials.itertuples(index=False):
        scores = ("failed", "", "") if failure else (digits(mean), digits(sd) if count > 1 else "", str(count))
        rows.append([*map(_plain, settings), *scores])
    names = [key.rpartition(".")[2] for key in result.settings]
    names += [f"{result.run.record.first_split} {result.metric.name}", "sd", "n"]
    yield TextTable(title="trials", columns=names, rows=rows, right=names)
    for why, count in result.trials["failure"].value_counts().drop("", errors="ignore").items():
        yield NoteLine(f"{so_many(count, 'trial')} failed: {why}")
    if result.held_out is None:
        yield NoteLine("`test_share` gives a score on rows that chose nothing")
    yield Line(result.sentence)
    if result.path is not None:
        yield NoteLine(f"{result.path}: the best recipe", aside=True)
        yield Next([["run", str(result.path), "--seeds", str(result.summary.n)]])
