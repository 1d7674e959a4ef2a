"""`finetune.search`: settings tried by Optuna, and the best of them scored honestly."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from finetune.api.callbacks import Callback, watcher_of
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.quiet import plainly, quiet
from finetune.commands.search.result import Search
from finetune.commands.search.space import GivenSpace, plan_search
from finetune.data.paths import STORE
from finetune.data.source import source_of
from finetune.training.run_options import RunOptions

TRIALS, SEEDS = 30, 3  # defaults


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
