"""`finetune run`: trains models from recipes or data, and prints their scores."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from finetune.api.planning import plan
from finetune.cli.arguments import RESULTS, Data, Device, Json, Out, Quiet, complete
from finetune.cli.asking import asking
from finetune.cli.console import Terminal, standard_error, standard_output
from finetune.cli.libraries import load_libraries, loading
from finetune.cli.next_commands import GivenOptions
from finetune.cli.progress import ProgressDisplay
from finetune.cli.run_facts import next_commands, print_verdicts
from finetune.cli.run_tables import print_record, summary_lines, summary_table
from finetune.cli.terminal import echo, one_line, print_errors
from finetune.data.files import is_data
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.metrics.scores import in_words
from finetune.runs.environment import first_process
from finetune.runs.events import unwatched
from finetune.runs.grid import shares_of
from finetune.runs.record import RunRecord
from finetune.runs.seeds import of_largest_sizes
from finetune.task_types.columns import own_data
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run_options import RunOptions, Saving, tracker_names
from finetune.training.targets import split_arguments

if TYPE_CHECKING:
    from finetune.analysis.data_sizes import LearningCurve


def run_command(
    targets: Annotated[
        list[str],
        typer.Argument(help="Data files, recipes (names, patterns, files); key=value.", autocompletion=complete),
    ],
    rows: Annotated[
        Literal["apart", "together"],
        typer.Option(help="Several data files: a run on each, or one on the rows of all, as old.csv,new.csv means."),
    ] = "apart",
    seeds: Annotated[int, typer.Option(min=1, help="Run N seeds, starting at the recipe's.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Same as seed=N.")] = None,
    limit: Annotated[int | None, typer.Option(help="Use at most N rows of each split.")] = None,
    sizes: Annotated[
        str | None, typer.Option("--data-sizes", help="Run with shares of the training rows, such as 10%,25%,50%,100%.")
    ] = None,
    out: Out = RESULTS,
    data: Data = None,
    device: Device = None,
    force: Annotated[
        bool, typer.Option("--force", help="Train again, and replace the finished run when done.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    track: Annotated[str, typer.Option(help="Send the runs to trackers: tensorboard, mlflow, wandb.")] = "",
    checkpoint_minutes: Annotated[
        float, typer.Option(min=0.0, help="Minutes between checkpoints, unless writing takes over 3 % of the time.")
    ] = 2.0,
    checkpoint_updates: Annotated[
        int | None, typer.Option(min=1, help="Write a checkpoint after every N updates instead.")
    ] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Stop if another process trains this run, rather than wait for it.")
    ] = False,
) -> None:
    """Runs all recipes and prints their records; exits with 2 if one failed."""
    options = RunOptions(
        source=source_of(data), out=out, device=device, force=force, wait=not no_wait, track=tracker_names(track),
        saving=Saving(minutes=checkpoint_minutes, updates=checkpoint_updates),
    )  # fmt: skip
    names, settings = split_arguments(targets)
    names = [",".join(names)] if rows == "together" else names
    settings |= {key: value for key, value in (("seed", seed), ("limit", limit)) if value is not None}
    shares = () if sizes is None else shares_of(sizes)
    silent = quiet or as_json or not first_process()
    planned = asking(lambda given: plan(names, given, seeds=seeds, shares=shares, out=out), settings)
    if not silent:
        _print_guesses(names, planned)
    load_libraries("" if silent else loading(planned))
    from finetune.training.run_many import run_all

    display = ProgressDisplay(standard_error())
    with display:
        records, failures = run_all(planned, options, watch=unwatched if silent else display)
    if first_process():
        _print_records(records, failures, as_json=as_json, short=quiet or bool(shares), noted=display.noted)
    if first_process() and records and not as_json:
        console = standard_output()
        if not quiet:
            console.print()
            print_verdicts(console, records)
        if shares:
            from finetune.api.run import runs_of_records

            print_curves(console, runs_of_records(records, out=out).learning_curves)
    if first_process() and records and not silent:
        given = GivenOptions(out=out, data=data, device=device)
        standard_output().print_next(*next_commands(records, given, settings), piped=True)
    print_errors(failures)
    if failures:
        raise typer.Exit(2)


def _print_guesses(names: list[str], planned: list[ResolvedRun]) -> None:
    """Prints how the user's data among the targets was read: file formats, first rows and columns, or texts."""
    targets = {task for name in names if is_data(name) for task in (name, f"./{name}")}
    tasks = [one.task for one in planned if one.recipe.task in targets]
    if not tasks:
        return
    from finetune.cli.tables import layout_table
    from finetune.task_types.pretraining.own import own_text, reading_lines

    console = standard_error()
    for read in {id(read): read for task in tasks if (read := own_data(task)) is not None}.values():
        for line in read.described:
            console.print_line(line)
        console.print(layout_table(read.layout))
    texts = {id(text): text for task in tasks if (text := own_text(task)) is not None}
    for text in texts.values():
        for line in reading_lines(text):
            console.print_line(line)
    if len(texts) > 1:
        console.print_line(f"note: {len(texts)} texts, each for an encoder: for one, name their folder or a '*.txt'")


def _print_records(
    records: list[RunRecord], failures: list[UserError], *, as_json: bool, short: bool, noted: set[str]
) -> None:
    """Prints finished runs, `short` with a line each, else without the notes that were printed before, `noted`; and
    for several a summary, with the number of those that diverged.
    """
    console = standard_output()
    for record in records:
        if as_json:
            echo(record.model_dump_json())
        elif short:
            echo(one_line(f"{record.task} {record.id}  {in_words(record.scores, record.metric)}"))
        else:
            print_record(console, record, printed=noted)
    if len(records) > 1 and not as_json:
        from finetune.inference.feature_batches import Diverged

        console.print(summary_table(records))
        diverged = sum(isinstance(failure, Diverged) for failure in failures)
        for text in summary_lines(of_largest_sizes(records), diverged=diverged):
            console.print_line(text)


def print_curves(console: Terminal, curves: "list[LearningCurve]") -> None:
    """A table for each setting that was run with several sizes, a line a size, and a sentence."""
    from finetune.cli.tables import fitted_table
    from finetune.data.messages import so_many

    for curve in curves:
        seeds = len(curve.sizes[-1].records)
        notes = [f"mean of {so_many(seeds, 'seed')}"] if seeds > 1 else []
        console.print(fitted_table("by size of the data", curve.columns, curve.cells, right=curve.columns, notes=notes))
        console.print_line(curve.answer)
