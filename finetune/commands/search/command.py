"""`finetune search`: tries settings, prints the trials, and writes the best recipe."""

import json
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Json, Out, Quiet, Replace, complete
from finetune.cli.asking import asking
from finetune.cli.console import standard_error, standard_output
from finetune.cli.libraries import load_libraries, loading
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.progress import ProgressDisplay
from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import echo, one_line, say
from finetune.commands.search.api import SEEDS, TRIALS
from finetune.commands.search.result import Search, plain_setting
from finetune.commands.search.space import plan_search
from finetune.data.messages import so_many
from finetune.data.outputs import output_file, require_replaceable_output
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.events import unwatched
from finetune.training.run_options import RunOptions
from finetune.training.targets import split_arguments

BEST = Path("best.toml")


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
    force: Replace = False,
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
    require_replaceable_output(output, endings=[".toml"], reads=names, force=force)
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
    head = f"# finetune run {output} --seeds {seeds}\n# {one_line(found.sentence)}\n"
    with output_file(output, remedy="Name another file with -o") as scratch:
        scratch.write_text(head + found.best.to_toml(), encoding="utf-8")
    if not as_json:
        say(f"{output}: the best recipe", err=True)
        kept = GivenOptions(out=out, data=data, device=device)
        standard_output().print_next(kept.command("run", str(output), "--seeds", str(seeds)))


def _print(found: Search) -> None:
    console, shown, rows = standard_output(), found.metric.shown, []
    for *settings, mean, sd, count, failure in found.trials.itertuples(index=False):
        scores = ("failed", "", "") if failure else (shown(mean), shown(sd) if count > 1 else "", str(count))
        rows.append([*map(plain_setting, settings), *scores])
    names = [key.rpartition(".")[2] for key in found.settings]
    names += [f"{found.run.record.first_split} {found.metric.name}", "sd", "n"]
    console.print(FittedTable(title="trials", columns=[Column(name=name, right=True) for name in names], rows=rows))
    for why, count in found.trials["failure"].value_counts().drop("", errors="ignore").items():
        console.print_line(note_line(f"{so_many(count, 'trial')} failed: {why}"))
    if found.held_out is None:
        console.print_line(note_line("`test_share` gives a score on rows that chose nothing"))
    console.print_line(found.sentence)


def _facts(found: Search) -> dict[str, object]:
    return {
        "trials": json.loads(found.trials.to_json(orient="records")),
        "best": found.settings,
        "runs": [record.id for record in found.run.records],
        "held_out": None if found.held_out is None else found.held_out.mean,
        "sentence": found.sentence,
    }
