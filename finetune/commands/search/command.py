"""`finetune search`: tries settings, prints the trials, and writes the best recipe."""

import json
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Json, Out, Quiet, complete
from finetune.cli.asking import asking
from finetune.cli.console import standard_error, standard_output
from finetune.cli.libraries import load_libraries, loading
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.progress import ProgressDisplay
from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import echo, one_line, say
from finetune.commands.search.api import SEEDS, TRIALS
from finetune.commands.search.result import Search, Trial, plain_setting
from finetune.commands.search.space import plan_search
from finetune.data.messages import so_many
from finetune.data.outputs import output_file, require_replaceable_output
from finetune.data.paths import exists, is_file, read_small_text
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.events import unwatched
from finetune.runs.seeds import summarised
from finetune.runs.toml import MOST_BYTES
from finetune.training.run_options import RunOptions
from finetune.training.targets import split_arguments

BEST = Path("best.toml")
MARK = "# Found by: finetune search"  # the start of the second line of a file that this command wrote


def search_command(
    targets: Annotated[
        list[str],
        typer.Argument(help="A data file or recipe, a space (file or name); key=value.", autocompletion=complete),
    ],
    trials: Annotated[int, typer.Option(min=1, help="Try N settings, earlier ones included.")] = TRIALS,
    seeds: Annotated[int, typer.Option(min=1, help="Run N seeds of each; their mean counts.")] = SEEDS,
    test_share: Annotated[
        float, typer.Option(help="Hold out this share of the training rows, and score the winner on it.")
    ] = 0.0,
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the best recipe.")] = BEST,
    force: Annotated[bool, typer.Option("--force", help="Replace that file.")] = False,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Searches, prints the trials and what the best is worth, and writes its recipe."""
    options = RunOptions(source=source_of(data), out=out, device=device)
    names, settings = split_arguments(targets)
    if not 1 <= len(names) <= 2:
        raise UserError(f"search takes a recipe and a space, not {so_many(len(names), 'name')}", "Give one recipe")
    mark = f"{MARK} {' '.join(targets)}"
    require_replaceable_output(output, endings=[".toml"], reads=names, force=True)
    if exists(output) and not force and not _is_ours(output, mark):  # another search may have taken hours
        raise UserError(
            f"{output} already exists, and is not of this search",
            "Name another file with -o, or replace it with --force",
        )
    silent = quiet or as_json
    plan = asking(lambda given: plan_search(names[0], given, *names[1:], out=out), settings)
    load_libraries("" if silent else loading([plan.base]), "finetune.commands.search.study")
    from finetune.commands.search.study import execute_search

    with ProgressDisplay(standard_error()) as display:
        watch = unwatched if silent else display
        found = execute_search(plan, options, trials=trials, seeds=seeds, test_share=test_share, watch=watch)
    if as_json:
        echo(json.dumps(_facts(found)))
    else:
        _print(found)
    _write(found, output, mark, force=force)
    if not as_json:
        kept = GivenOptions(out=out, data=data, device=device)
        standard_output().print_next(kept.command("run", str(output), "--seeds", str(seeds)))


def _print(found: Search) -> None:
    console = standard_output()
    console.print(trials_table(found))
    failures = [trial.failure for trial in found.ranked if trial.failure]
    for why in dict.fromkeys(failures):
        console.print_line(note_line(f"{so_many(failures.count(why), 'trial')} failed: {why}"))
    if found.held_out is None:
        console.print_line(note_line("`test_share` gives a score on rows that chose nothing"))
    console.print_line(found.sentence)


def trials_table(found: Search) -> FittedTable:
    """The trials, the best first."""
    names = [Column(name=key.rpartition(".")[2], right=True) for key in found.space]
    numbers = [Column(name=name, right=True) for name in (f"{found.split} {found.metric.name}", "sd", "n")]
    rows = [
        (*(plain_setting(trial.settings[key]) for key in found.space), *_scores(trial, found)) for trial in found.ranked
    ]
    return FittedTable(title="trials", columns=[*names, *numbers], rows=rows)


def _scores(trial: Trial, found: Search) -> tuple[str, str, str]:
    """The mean, its standard deviation and the number of seeds."""
    if trial.failure:
        return "failed", "", ""
    summary, shown = summarised(trial.scores, found.metric), found.metric.shown
    return shown(summary.mean), "" if summary.sd is None else shown(summary.sd), str(summary.n)


def _facts(found: Search) -> dict[str, object]:
    held_out = found.held_out
    return {
        "trials": json.loads(found.trials.to_json(orient="records")),
        "best": found.winner.settings,
        "runs": list(found.winner.runs),
        "optimism": found.optimism,
        "held_out": None if held_out is None else held_out.summary.mean,
        "sentence": found.sentence,
    }


def _write(found: Search, output: Path, mark: str, *, force: bool) -> None:
    """Writes the best recipe. Raises UserError where another one is there."""
    head = [f"# finetune run {output} --seeds {found.seeds}", mark, f"# {found.sentence}"]
    text = "\n".join([*map(one_line, head), found.best.to_toml()])
    if exists(output) and not force:
        if is_file(output) and read_small_text(output, most=MOST_BYTES) == text:
            return
        raise UserError(f"{output} has another recipe, and stays", "Name another file with -o, or add --force")
    with output_file(output, remedy="Name another file with -o") as scratch:
        scratch.write_text(text, encoding="utf-8")
    say(f"{output}: the best recipe", err=True)


def _is_ours(file: Path, mark: str) -> bool:
    """Whether the same search wrote the file."""
    return is_file(file) and one_line(mark) in read_small_text(file, most=MOST_BYTES).splitlines()
