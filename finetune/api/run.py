"""Run: one finished run, or several that belong together, as tables, a model and a report."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.analysis.card import loaded_in_transformers
from finetune.analysis.diagnosis import Diagnosis, diagnosis_of_seeds
from finetune.api.calls import command, plainly
from finetune.errors import UserError
from finetune.metrics.metric import plain_metrics
from finetune.runs.folder import NEEDED, PredictionLine, RunFolder, read_lines
from finetune.runs.lookup import require_run
from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records, load_record
from finetune.runs.seeds import best_group, best_run, by_setting, differing_settings, same_but_seeds, summarised
from finetune.runs.verdict import Verdict, interval_of, verdict_of

if TYPE_CHECKING:
    import pandas as pd

    from finetune.analysis.data_sizes import LearningCurve
    from finetune.api.model import Model
    from finetune.task_types.predictions import Predictions

OURS = "model"  # the method of the trained model, among the baselines
COLUMNS = ("settings", "split", "metric", "method", "score", "sd", "low", "high", "runs")


@dataclass(frozen=True)
class Run:
    """One finished run, or several with other seeds or settings: what `finetune.run` and `open_run` return.

    Example: `run.scores`, `run.model.predict(["a text"])`, `run.report()`

    Attributes:
        records: The record of each run.
        out: The folder of runs.
        moved: The folders of runs that are not at `out/task/id`, by id.
        failures: Why others of the same call failed.
    """

    records: Sequence[RunRecord]
    out: Path
    moved: Mapping[str, Path] = field(default_factory=dict)
    failures: Sequence[UserError] = ()

    @property
    def record(self) -> RunRecord:
        """The record; of several runs, the best run of the best setting, by the headline on the first split.

        The best setting is the one with the best mean over its seeds; smaller sizes of the data take no part.
        """
        return best_run(self.records)

    @property
    def id(self) -> str:
        """The id of `record`."""
        return self.record.id

    @property
    def folder(self) -> Path:
        """The folder of `record`: recipe, events, predictions, model."""
        return self.folder_of(self.record).path

    def folder_of(self, record: RunRecord) -> RunFolder:
        """The folder of one of the records."""
        moved = self.moved.get(record.id)
        return RunFolder.of(self.out, record.task, record.id) if moved is None else RunFolder(moved)

    @property
    def folders(self) -> list[str]:
        """The folder of each run."""
        return [str(run.folder) for run in self.runs]

    @property
    def runs(self) -> "list[Run]":
        """Each run as an object of its own."""
        return [Run(records=(record,), out=self.out, moved=self.moved) for record in self.records]

    @property
    def verdict(self) -> Verdict:
        """Whether the model is worth more than the best baseline: `verdict.sentence`, `verdict.level` and the numbers.

        Over the seeds of the setting of `record`.
        """
        return verdict_of(best_group(self.records))

    @property
    def diagnosis(self) -> Diagnosis:
        """Why the model is bad, as far as its record shows: `causes`, the most certain first, each with its `evidence`
        and the next `command`; none where nothing is wrong.

        Example: `run.diagnosis.cause`, `run.diagnosis.command`

        Of the setting of `record`: what half of its seeds or more have in common.
        """
        group = best_group(self.records)
        diagnoses = diagnosis_of_seeds([(record, self.folder_of(record)) for record in group])
        return diagnoses.for_runs_in(self.out)

    @property
    def scores(self) -> "pd.DataFrame":
        """A row for each split, metric and method: `model` is the trained one, the others are baselines.

        `score` is the mean over the `runs` that differ in their seeds alone, as computed: 0.843 is 84.3 points. `sd`
        is their standard deviation, NaN for a single run. `low` and `high` are the verdict's 95 % interval: of the
        model's headline score. With several settings a first column `settings` says which.
        """
        import pandas as pd

        groups = by_setting(self.records)
        settings = [
            ", ".join(f"{k}={v}" for k, v in setting.items()) for setting in differing_settings([g[0] for g in groups])
        ]
        rows = [row for group, words in zip(groups, settings, strict=True) for row in _score_rows(group, words)]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame if len(groups) > 1 else frame.drop(columns="settings")

    @property
    def baselines(self) -> "pd.DataFrame":
        """The rows of `scores` that are of baselines."""
        scores = self.scores
        return scores[scores["method"] != OURS].reset_index(drop=True)

    @property
    def learning_curves(self) -> "list[LearningCurve]":
        """The score over the size of the data, a curve for each setting that was run with several `data_sizes`.

        Example: `run.learning_curves[0].frame`
        """
        from finetune.analysis.data_sizes import learning_curves

        return learning_curves(self.records, {record.id: self.folder_of(record) for record in self.records})

    @property
    def predictions(self) -> "pd.DataFrame":
        """Every prediction: the split, the row's fields, its label (`gold`), `prediction` and probabilities.

        The probability of a label is in the column `p(LABEL)`; tags and choices have a list `probabilities`.
        Of several runs, `run` and `seed` say whose it is. Raises UserError if they were deleted: git keeps none.
        """
        import pandas as pd

        lines = [
            ({"run": record.id, "seed": record.recipe["seed"]} if len(self.records) > 1 else {}) | line
            for record in self.records
            for line in _saved_lines(record, self.folder_of(record))
        ]
        empty = {name for name in lines[0] if all(line.get(name) is None for line in lines)} - {*NEEDED}
        return pd.DataFrame([{name: cell for name, cell in line.items() if name not in empty} for line in lines])

    @property
    def label_errors(self) -> "pd.DataFrame":
        """The rows of dev (and test) of `record`, those first whose label the model believes least.

        Example: `run.label_errors.head(20)`

        `label_probability` is what the model gives to the label, and `belief` that less the mean of the label's class
        (Northcutt et al. 2021); of a number it is the error, negative, in units of what is usual for such predictions.
        Where a row has several labels, `doubted` is the least believed one, by logarithms. Empty for a task without
        probabilities.
        """
        import pandas as pd

        lines = _believed_lines(self.record, self.folder_of(self.record))
        return pd.DataFrame(sorted(lines, key=lambda line: (isnan(line["belief"]), line["belief"])))

    @cached_property
    def model(self) -> "Model":
        """The trained model of `record`, loaded when it is first used."""
        from finetune.api.model import load

        return load(self.folder, out=self.out)

    @plainly
    def report(self, path: str | Path = "report.html", *, force: bool = False) -> Path:
        """Writes an HTML report of all runs, and in a notebook shows it.

        Example: `run.report("reviews.html")`

        Args:
            path: The file to write.
            force: Replace a file that this command did not write.

        Returns:
            The path of the file.

        Raises:
            UserError: Without the extra `report`, or if the file cannot be written.
        """
        return Path(command("report").report(*self.folders, path=path, out=self.out, force=force))

    def __repr__(self) -> str:
        first = self.records[0]
        several = f"{len(self.records)} runs, best " if len(self.records) > 1 else ""
        return f"<Run of {first.task} with {first.model}: {several}{self.id}, {_headline(self.record)}>"


def runs_of_records(records: Sequence[RunRecord], *, out: Path, failures: Sequence[UserError] = ()) -> Run:
    """The object of these runs; a run that two points of a grid share is there once."""
    different = {record.id: record for record in records}
    return Run(records=tuple(different.values()), out=out, failures=tuple(failures))


def as_objects(run: Run) -> Iterator[dict[str, Any]]:
    """For JSON: each record with its `folder`, the line that loads its model in transformers, and the `verdict` and
    `diagnosis` of all seeds of its setting.
    """
    for group in by_setting(run.records):
        several = replace(run, records=group)
        verdict, diagnosis = several.verdict, several.diagnosis
        named = {"metric": verdict.metric.name, "records": [record.id for record in group]}
        judged = {
            "verdict": {"level": verdict.level, "sentence": verdict.sentence} | vars(verdict) | named,
            "diagnosis": [vars(cause) | {"command": cause.command} for cause in diagnosis.causes],
        }
        for record in group:
            folder = run.folder_of(record)
            loading = loaded_in_transformers(folder.model, folder.model.as_posix())
            place = {"folder": str(folder.path), "in_transformers": loading or None}
            yield json.loads(record.model_dump_json()) | place | judged


@plainly
def open_run(name: str | Path, *, seeds: bool = False, out: str | Path = "results") -> Run:
    """Opens a finished run.

    Example: `finetune.open_run("reviews.csv")`

    Args:
        name: The run's folder, a prefix of its id, its task, or the data that it was trained on (the latest run).
        seeds: Also open all runs that differ from it only in their seeds.
        out: The folder of runs.

    Returns:
        The run, or runs.

    Raises:
        UserError: If there is no such run, or its record is damaged.
    """
    folder = require_run(str(name), Path(out))
    record, where = load_record(folder.record_file), folder.path.parents[1]
    others = same_but_seeds(record, all_records(where)) if seeds else []
    runs = runs_of_records([record, *others], out=where)
    return runs if runs.folder == folder.path else replace(runs, moved={record.id: folder.path})


def _score_rows(group: Sequence[RunRecord], settings: str) -> list[tuple[Any, ...]]:
    """The cells of COLUMNS for runs that differ in their seeds alone."""
    rows = []
    for split, scores in group[0].scores.items():
        methods = [OURS, *group[0].baselines[split]]
        for name in plain_metrics(scores):
            for method in methods:
                seeds = [
                    (record.scores[split] if method == OURS else record.baselines[split][method])[name]
                    for record in group
                ]
                summary = summarised(seeds, group[0].metric(name))
                interval = interval_of(group, split, name) if method == OURS else None
                spread = (nan if summary.sd is None else summary.sd, *(interval or (nan, nan)))
                rows.append((settings, split, name, method, summary.mean, *spread, len(seeds)))
    return rows


def _headline(record: RunRecord) -> str:
    return f"{record.first_split} {record.headline} {record.metric(record.headline).shown(record.score)}"


def _saved_lines(record: RunRecord, folder: RunFolder) -> Iterator[PredictionLine]:
    from finetune.task_types.saved_predictions import run_predictions  # with numpy and all task types

    for split in record.scores:
        lines = read_lines(folder, split)
        table = run_predictions(record, folder, split, lines)
        yield from ({"split": split} | _by_column(table, line) for line in lines)


def _by_column(table: "Predictions | None", line: PredictionLine) -> PredictionLine:
    """The line with `p(LABEL)` for each label; with the list `probabilities` where the labels are not known."""
    from finetune.task_types.predictions import named_chances

    names = [] if table is None or not table.chances else [*table.chances[0]]
    named = named_chances([line], names) if table is not None and names == [*table.names] else []
    columns = {f"p({label})": chance for chances in named for label, chance in chances.items()}
    return {key: value for key, value in line.items() if key != "probabilities" or not named} | columns


def _believed_lines(record: RunRecord, folder: RunFolder) -> Iterator[dict[str, Any]]:
    """The predictions of a run, each with the probability of its label and how far that is believed."""
    from finetune.analysis.label_errors import beliefs
    from finetune.task_types.saved_predictions import run_predictions

    for split in record.scores:
        table = run_predictions(record, folder, split)
        believed = None if table is None else beliefs(table)
        if table is None or believed is None:
            continue
        for row, line in enumerate(table.lines):
            shown = {key: value for key, value in line.items() if value is not None and ":" not in key}
            belief, doubt = {"belief": float(believed.belief[row])}, dict[str, Any]()
            if believed.least is not None:
                belief = {"label_probability": float(believed.chances[row])} | belief
                doubt = table.doubt(int(believed.least[row]))
            yield {"split": split} | _by_column(table, shown) | doubt | belief
