"""`finetune run`: from data or recipes to finished runs, and what the end of a run shows on one screen."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from finetune.analysis.card import loaded_in_transformers
from finetune.analysis.run_facts import cause_parts, next_commands, verdict_lines
from finetune.analysis.run_tables import (
    finding_lines,
    labels_table,
    layout_table,
    record_table,
    rows_line,
    summary_lines,
    summary_table,
)
from finetune.analysis.table import Line, Next, NoteLine, Part, TextTable
from finetune.api.callbacks import Callback
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.parameters import PYTHON, SETTING, Cli, Columns, DataFolder
from finetune.api.planning import loading, plan
from finetune.api.run import Run, as_objects, runs_of_records
from finetune.data.messages import so_many
from finetune.data.paths import STORE, is_data
from finetune.data.rows import data_fingerprint
from finetune.data.source import Source, source_of
from finetune.errors import UserError
from finetune.metrics.scores import in_words
from finetune.runs.record import RunRecord
from finetune.runs.record_files import records_on
from finetune.runs.resolve import shares_of
from finetune.runs.seeds import of_largest_sizes
from finetune.runs.verdict import dev_choices
from finetune.task_types.columns import OPTIONS, own_data
from finetune.task_types.held_out import trained_on_rows
from finetune.task_types.prepare import load_splits
from finetune.task_types.pretraining.own import own_text, reading_lines
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run_options import RunOptions, Saving, tracker_names

FILES = ("dev", "test", "split", "encoding", "sheet")  # options of data that a table in memory does not have
MOST_ROWS = 1_000  # for training, on which the baselines take a second
MOST_LABELS, MOST_FINDINGS, MOST_NOTES = 3, 2, 2  # that the end of a run shows, in 32 lines; `show` has all


@plainly
def run(
    *targets: Annotated[
        Any, Cli(least=1, recipes=True, help="Data files, recipes (names, patterns, files); key=value.")
    ],
    data: Annotated[Any, PYTHON] = None,
    text: Columns = None,
    label: Columns = None,
    model: Annotated[str | Path | None, SETTING] = None,
    rows: Literal["apart", "together"] = "apart",
    seeds: Annotated[int, Cli(least=1)] = 1,
    seed: Annotated[int | None, Cli(setting=True, names=("--seed",))] = None,
    limit: Annotated[int | None, Cli(setting=True, names=("--limit",))] = None,
    data_sizes: str | Sequence[float] | None = None,
    name: Annotated[str | None, PYTHON] = None,
    out: str | Path = "results",
    data_folder: DataFolder = None,
    device: str | None = None,
    force: bool = False,
    wait: Annotated[bool, Cli(names=("--wait/--no-wait",))] = True,
    checkpoint_minutes: Annotated[float, Cli(least=0.0)] = 2.0,
    checkpoint_updates: Annotated[int | None, Cli(least=1)] = None,
    max_minutes: Annotated[float | None, Cli(least=0.0)] = None,
    track: str | Sequence[str] = "",
    progress: Annotated[bool | None, PYTHON] = None,
    callbacks: Annotated[Callback | Iterable[Callback], PYTHON] = (),
    **settings: Any,
) -> Run:
    """Trains, scores and saves; a run that is finished already is returned at once, an interrupted one is resumed.

    Example: `run = finetune.run(df, text="review", label="stars", model="minilm", seeds=3)`

    Args:
        *targets: Data files or folders, recipes (names, patterns, files), and settings as key=value. From Python also
            rows in memory, alone: a pandas DataFrame, a `datasets.Dataset` or `DatasetDict`, a list of dictionaries, a
            dictionary of columns, or a dictionary of any of these by split.
        data: Rows in memory, in place of targets.
        text: The column of the text, or the columns of several (a pair of texts, a question and its context).
        label: The column of the label, or for several labels a row their columns.
        model: A Hub name, a folder, `minilm`, a run or a recipe, whose encoder is taken.
        rows: Several data files: a run on each, or one on the rows of all, as old.csv,new.csv means.
        seeds: Run N seeds, starting at the recipe's.
        seed: The seed of the first run.
        limit: Use at most N rows of each split.
        data_sizes: Run with shares of the training rows, such as 10%,25%,50%,100%; then `run.learning_curves` says
            whether more labels would help.
        name: The name of the task of rows in memory, for example that of the file that they were read from: then
            `finetune run` on the file and this call find each other's runs. Default: the name of an earlier run
            on the same rows, else `data.parquet`.
        out: The folder of runs.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        force: Train again, and replace the finished run when done.
        wait: Wait for a run that another process trains; else such a run is an error.
        checkpoint_minutes: Minutes between checkpoints, unless writing takes over 3 % of the time.
        checkpoint_updates: Write a checkpoint after every N updates instead.
        max_minutes: Start no run that would take longer, and say what would fit.
        track: Send the runs to trackers: tensorboard, mlflow, wandb. One that fails is left out.
        progress: Whether to show a line of progress; default: in a notebook only.
        callbacks: Functions that are called with each event, or objects with methods for some of them, such as
            `on_epoch_done`. A callback that raises an exception is reported by a warning, and not called again.
        **settings: Settings of a recipe, such as `max_length=256`, `train={"epochs": 5}`, `**{"train.epochs": 5}`.

    Returns:
        The finished run; with several targets or seeds, or a grid, all of them as one object.

    Raises:
        UserError: Whatever the caller can fix: data, columns, settings, model, disk, memory.
        KeyboardInterrupt: After Ctrl-C, once a checkpoint is saved: the same call resumes there.
    """
    options = RunOptions(
        source=source_of(data_folder), out=Path(out), device=device,
        force=force, wait=wait, track=tracker_names(track), max_minutes=max_minutes,
        saving=Saving(minutes=checkpoint_minutes, updates=checkpoint_updates),
    )  # fmt: skip
    chosen = recipe_settings(settings, text=text, label=label, model=model)
    chosen |= {key: value for key, value in (("seed", seed), ("limit", limit)) if value is not None}
    shares = () if data_sizes is None else shares_of(data_sizes)
    memory = [data] if data is not None else [target for target in targets if not is_path(target)]
    if memory:
        if len(memory) + (data is not None) * len(targets) > 1 or len(targets) > 1:
            raise UserError("rows in memory are trained on alone", "Call run once for each table")
        planned = _planned_in_memory(memory[0], chosen, seeds=seeds, shares=shares, name=name, out=Path(out))
    else:
        if name is not None:
            raise UserError("name= is for rows in memory: a file has a name", "Leave it out")
        names = [os.fspath(target) for target in targets]
        names = [",".join(names)] if rows == "together" else names
        planned = plan(names, chosen, seeds=seeds, shares=shares, out=Path(out))
        here().tell(*_read(names, planned))
        planned[0] = _with_first_scores(planned[0], options)
    with here().working(loading(planned), progress=progress, callbacks=callbacks) as watch:
        from finetune.training.run_many import run_all

        records, failures = run_all(planned, options, watch=watch)
    here().failed(failures, every=not records)
    return runs_of_records(records, out=Path(out), failures=failures)


def _planned_in_memory(
    data: Any, settings: Mapping[str, Any], *, seeds: int, shares: Sequence[float], name: str | None, out: Path
) -> list[ResolvedRun]:
    """The runs on rows in memory, with a name of their task."""
    with in_memory(data, out / STORE) as path:
        planned = plan([str(path)], settings, seeds=seeds, shares=shares, out=out)
        name = name or _name_in(out, planned[0])
    return planned if name is None else [run.renamed(name) for run in planned]


def _name_in(out: Path, planned: ResolvedRun) -> str | None:
    """The task's name in the latest run on the same rows, such as that of the CSV that a DataFrame was read from."""
    columns = _columns(planned.recipe.options)
    splits = load_splits(planned.task, Source(), limit=planned.recipe.limit)
    data = data_fingerprint({split: loaded.rows for split, loaded in splits.items()})
    same = [record.task for record in records_on(data, out) if _columns(record.recipe.get("options", {})) == columns]
    return same[-1] if same else None


def _columns(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say what the columns mean, without those of files."""
    return {name: value for name, value in options.items() if name in OPTIONS and name not in FILES}


def _read(names: Sequence[str], planned: Sequence[ResolvedRun]) -> Iterator[Part]:
    """How the user's data among the targets was read: file formats, first rows and columns, or texts."""
    targets = {task for name in names if is_data(name) for task in (name, f"./{name}")}
    tasks = [run.task for run in planned if run.recipe.task in targets]
    for read in {id(read): read for task in tasks if (read := own_data(task)) is not None}.values():
        yield from map(Line, read.described)
        yield layout_table(read.layout)
    texts = {id(text): text for task in tasks if (text := own_text(task)) is not None}
    for text in texts.values():
        yield from map(Line, reading_lines(text))
    if len(texts) > 1:
        yield NoteLine(f"{len(texts)} texts, each for an encoder: for one, name their folder or a '*.txt'")


def _with_first_scores(first: ResolvedRun, options: RunOptions) -> ResolvedRun:
    """A run on few rows of the user's with the predictions of its baselines, whose scores are told before torch is
    imported and weights are read; unless runs on these rows are there, which tell them too.
    """
    task, recipe = first.task, first.recipe
    if own_data(task) is None or hasattr(task, "decide") or recipe.keep_labels or recipe.distil.teachers:
        return first
    try:
        splits = load_splits(task, options.source, limit=recipe.limit)
        train = trained_on_rows(recipe, task, splits).rows
    except UserError:  # the run fails with it, and others of the call do not
        return first
    rows = {split: loaded.rows for split, loaded in splits.items()}
    if len(train) > MOST_ROWS or records_on(data_fingerprint(rows), options.out):
        return first
    task = task.fit(train)
    baselines = {split: task.baselines(train, rows[split]) for split in task.dev_splits}
    split, metric = task.dev_splits[0], task.metrics[0]
    scores = {method: task.score(answers, rows[split])[metric.name] for method, answers in baselines[split].items()}
    if scores:
        listed = ", ".join(f"{method} {metric.shown(score)}" for method, score in scores.items())
        here().tell(Line(f"to beat, {metric.name} on {so_many(len(rows[split]))} of {split}: {listed}"))
    return replace(first, baselines=baselines)


def as_json(result: Run) -> Iterator[Mapping[str, Any]]:
    """A run a line: the fields of its record, its `folder`, `in_transformers`; `verdict`, `diagnosis` of all seeds."""
    yield from as_objects(result)


def shown(result: Run) -> Iterator[Part]:
    """A run on one screen: rows, scores next to the baselines, verdict, cause, next commands; several in one table."""
    records, curves = result.records, result.learning_curves
    if here().brief:
        for record in records:
            yield Line(f"{record.task} {record.id}  {in_words(record.scores, record.metric)}")
    elif len(records) == 1:
        yield from _single(records[0])
    if len(records) > 1:
        if not curves:  # which have the scores
            yield summary_table(records)
        yield from map(Line, summary_lines(of_largest_sizes(records), diverged=_diverged(result)))
    for curve in curves:
        seeds = len(curve.sizes[-1].records)
        notes = [f"mean of {so_many(seeds, 'seed')}"] if seeds > 1 else []
        title = "by size of the data"
        yield TextTable(title=title, columns=curve.columns, rows=curve.cells, right=curve.columns, notes=notes)
        yield Line(curve.answer)
    if not records or here().brief:
        return
    all_notes = (note for record in records for note in (*dev_choices(record), *record.notes))
    new = [note for note in dict.fromkeys(all_notes) if note not in here().noted]
    yield from map(NoteLine, new[:MOST_NOTES])
    yield Line("")
    yield from verdict_lines(records)
    if len({record.task for record in records}) == 1:
        yield from cause_parts(result.diagnosis)
    yield Line(f"  `show` has the rest: {_rest(records, len(new) - MOST_NOTES)}")
    if len(records) == 1 and (model := result.folder / "model").is_dir():
        loading = loaded_in_transformers(model, model.as_posix())
        yield Line(f"  in transformers: {loading or 'no class has this head; use finetune.load'}")
    yield Next(next_commands(records), piped=True)


def _single(record: RunRecord) -> Iterator[Part]:
    """What is wrong with the rows of a run, how many there are, and its scores."""
    for finding in record.findings[:MOST_FINDINGS]:
        yield from finding_lines(finding)
    yield rows_line(record)
    yield record_table(record)
    labels = _few_labels(record)
    if labels is not None:
        yield labels


def _few_labels(record: RunRecord) -> TextTable | None:
    labels = labels_table(record)
    return labels if labels is not None and len(labels.rows) <= MOST_LABELS and not record.findings else None


def _rest(records: Sequence[RunRecord], notes: int) -> str:
    """What the screen has no room for."""
    several, first = len(records) > 1, records[0]
    findings = 0 if several else len(first.findings) - MOST_FINDINGS
    hidden = labels_table(first) is not None and (several or _few_labels(first) is None)
    parts = [
        so_many(findings, "finding") if findings > 0 else "", "scores by label" * hidden,
        so_many(notes, "note") if notes > 0 else "", "settings",
    ]  # fmt: skip
    return ", ".join(filter(None, parts))


def _diverged(result: Run) -> int:
    if not result.failures:
        return 0
    from finetune.inference.feature_batches import Diverged

    return sum(isinstance(failure, Diverged) for failure in result.failures)
