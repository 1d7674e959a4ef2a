"""What a search found: its trials as a table, the best recipe, and what the best score is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.api.html import html_list, html_table
from finetune.api.page import show_page
from finetune.api.quiet import plainly
from finetune.api.run import Run, runs_of_records
from finetune.commands.search.space import Space
from finetune.commands.search.trial_rows import plain_setting, summary_of
from finetune.data.messages import so_many
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.metrics.metric import Metric
from finetune.runs.recipe import Recipe
from finetune.runs.seeds import Summary, summarised

if TYPE_CHECKING:
    import pandas as pd

    from finetune.commands.search.trial import Trial

FACTS = ("mean", "sd", "n", "pruned_at", "failure")  # columns of `Search.trials` after the settings


@dataclass(frozen=True, kw_only=True)
class HeldOutScore:
    """The headline score of the winner on rows that chose nothing: its summary over seeds, or over folds; `winners`
    is the number of trials that these rows have scored so far, 1 unless the search was continued.
    """

    summary: Summary
    share: float
    folds: int = 0
    winners: int = 1


@dataclass(frozen=True, kw_only=True)
class Search:
    """A finished search: what `finetune.search` returns.

    Example: `found.trials`, `found.best.to_toml()`, `found.run.model`

    Attributes:
        found: Every trial, in the order in which they were proposed.
        best: The recipe with the best settings, without seeds of its own and without held-out rows.
        space: The range or the choices of each setting.
        seeds: The number of seeds of a trial.
        metric: The headline metric.
        split: The split on which trials are compared.
        optimism: By how much the best mean is too good because it was chosen, as computed; None where unknown.
        held_out: The winner's score on rows that chose nothing; None without `test_share` and `folds`.
        notes: What else is to be known: settings without influence, and how the paper's grid does.
        out: The folder of runs.
    """

    found: "Sequence[Trial]"
    best: Recipe
    winner: "Trial"
    space: Space
    seeds: int
    metric: Metric
    split: str
    optimism: float | None
    held_out: HeldOutScore | None
    notes: Sequence[str]
    out: Path

    @cached_property
    def ranked(self) -> "list[Trial]":
        """Trials, the best first: finished ones, then pruned ones, the latest pruned first, then failed ones."""

        def place(trial: "Trial") -> tuple[float, float]:
            if trial.value is not None:
                return 0, -self.metric.rank(trial.value)
            return (2, 0) if trial.pruned_at is None else (1, -trial.pruned_at)

        return sorted(self.found, key=place)

    @property
    def trials(self) -> "pd.DataFrame":
        """A row for each trial, the best first: its settings, then `mean`, `sd` and `n` of the headline score over its
        seeds as computed, `pruned_at` (an epoch), and `failure`.
        """
        import pandas as pd

        rows = []
        for trial in self.ranked:
            summary = summary_of(trial, self.metric)
            mean, sd, n = (None, None, 0) if summary is None else (summary.mean, summary.sd, summary.n)
            facts = dict(zip(FACTS, (mean, sd, n, trial.pruned_at, trial.failure), strict=True))
            rows.append({**trial.settings, **facts})
        return pd.DataFrame(rows, columns=[*self.space, *FACTS])

    @property
    def run(self) -> Run:
        """The finished runs of the best settings, one a seed."""
        return runs_of_records(self.winner.records, out=self.out)

    @property
    def sentence(self) -> str:
        """What was found, how much of its score is luck, and its score on held-out rows."""
        shown, done = self.metric.shown, sum(trial.value is not None for trial in self.found)
        summary = summarised(self.winner.scores, self.metric)
        settings = ", ".join(f"{key}={plain_setting(value)}" for key, value in self.winner.settings.items())
        spread = "" if summary.sd is None else f", sd {shown(summary.sd)}"
        text = (
            f"best of {so_many(len(self.found), 'trial')}: {settings}, with {self.split} {self.metric.name} "
            f"{shown(summary.mean)} ({so_many(summary.n, 'seed')}{spread})"
        )
        if done > 1:
            text += (
                f", of which about {shown(self.optimism)} is optimism of the best of {done}"
                if self.optimism is not None
                else "; the optimism of the best is unknown with one seed"
            )
        return text + self._held_out_words()

    def _held_out_words(self) -> str:
        found = self.held_out
        if found is None:
            return ""
        shown, summary = self.metric.shown, found.summary
        spread = "" if summary.sd is None else f", sd {shown(summary.sd)}"
        if found.folds:
            return f"; a search like this scores {shown(summary.mean)} on held-out rows ({found.folds} folds{spread})"
        again = f"; these rows have now scored {found.winners} winners" if found.winners > 1 else ""
        return f"; {shown(summary.mean)} on {found.share:.0%} of the training rows, held out{spread}{again}"

    @plainly
    def page(self, path: str | Path = "search.html", *, force: bool = False) -> Path:
        """Writes a page with the trials as parallel coordinates and as a table, and in a notebook shows it.

        With `force` it replaces a file that we did not write. Raises UserError without the extra `report`, and if the
        file cannot be written.
        """
        from finetune.commands.search.page import write_search_page

        require_replaceable_output(Path(path), endings=PAGE, force=force)
        write_search_page(
            Path(path), task=self.best.task, space=self.space, ranked=self.ranked, metric=self.metric, split=self.split,
            notes=[self.sentence, *self.notes],
        )  # fmt: skip
        show_page(Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return f"<Search of {self.best.task}: {self.sentence}>"

    def _repr_html_(self) -> str:
        frame = self.trials
        cells = [
            [("" if cell is None or cell != cell else str(cell)) for cell in row]
            for row in frame.itertuples(index=False)
        ]
        table = html_table(list(frame.columns), cells, title=self.best.task)
        return f"{table}{html_list([*self.notes, self.sentence])}"
