"""`finetune show`: a run with its scores, or a recipe with all its settings."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from finetune.analysis.diagnosis import diagnosis_of
from finetune.analysis.run_figures import DATA
from finetune.cli.arguments import RESULTS, Json, Out
from finetune.cli.console import Terminal, as_plain_text, facts_table, standard_output
from finetune.cli.next_commands import GivenOptions, results_of
from finetune.cli.run_facts import every_fact, print_verdicts, six_facts
from finetune.cli.run_tables import print_record
from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import echo
from finetune.data.files import is_data
from finetune.data.messages import so_many
from finetune.data.paths import is_file
from finetune.errors import UserError
from finetune.runs.folder import RunFolder, read_predictions
from finetune.runs.lookup import find_run, latest_run, no_run
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.toml import recipe_files, to_toml
from finetune.task_types.options import option_values
from finetune.task_types.predictions import Line, Predictions
from finetune.task_types.saved_predictions import run_predictions
from finetune.training.targets import load_target, split_arguments

SIDES = ("label", "prediction")


def show_command(
    target: Annotated[str, typer.Argument(help="A run (folder or id), a recipe, or a task or data (its latest run).")],
    settings: Annotated[list[str] | None, typer.Argument(help="Settings as key=value, for a recipe.")] = None,
    predictions: Annotated[int, typer.Option(min=0, help="Show the first N predictions of a run.")] = 0,
    every: Annotated[bool, typer.Option("--all", help="Show every field of a run's record.")] = False,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Prints a recipe as TOML, or a run's facts, scores and predictions."""
    found = find_run(target, out)
    is_recipe = target in recipe_files() or (is_file(target) and not is_data(target))
    if found is None and not settings and (predictions or not is_recipe):
        found = latest_run(target, out)
    if found is None and not (is_recipe or is_data(target) or "*" in target):
        remedy = no_run(target, out, also=[*recipe_files()]).way_out
        raise UserError(f"'{target}' is not a run in {out}, a recipe or a file", remedy)
    if found is None:
        _print_recipe(target, split_arguments(settings or [])[1], as_json=as_json)
    else:
        _print_run(found, predictions, out, every=every, as_json=as_json)


def _print_recipe(target: str, settings: dict[str, Any], *, as_json: bool) -> None:
    """Prints a recipe with all its settings, including defaults."""
    planned = load_target(target, settings)
    recipe = planned.recipe
    init_seed, data_seed = recipe.seeds
    every = option_values(planned.task)
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in every.items()}
    options = recipe.options | {name: value for name, value in given.items() if value is not None}
    complete = recipe.model_copy(update={"init_seed": init_seed, "data_seed": data_seed, "options": options})
    without = {"train": {"epochs"}} if recipe.train.updates is not None else None
    shown = complete.model_dump(exclude=without, exclude_none=not as_json)
    echo(json.dumps(shown) if as_json else to_toml(shown).rstrip())


def _print_run(found: RunFolder, predictions: int, out: Path, *, every: bool, as_json: bool) -> None:
    """Prints a finished run: what it is worth, scores, facts and first predictions."""
    record = load_record(found.record_file)
    if as_json:
        echo(record.model_dump_json())
        return
    console, kept = standard_output(), GivenOptions(out=results_of(found.path, out))
    told = print_diagnosis(console, record, kept, folder=found)
    print_verdicts(console, [record])
    console.print()
    print_record(console, record, printed=set(told))
    console.print(facts_table("facts", six_facts(found, record)))
    if every:
        console.print(facts_table("record", every_fact(record)))
    for split in record.scores if predictions else ():
        lines = read_predictions(found.predictions(split))[:predictions]
        table = run_predictions(record, found, split, lines)
        marked = ", wrong ones marked x" * (table is None or table.right is not None)
        console.print_line(f"first {so_many(predictions, 'prediction')} of {split}{marked}")
        console.print(_predictions_table(lines, table))
    # A folder that was moved or renamed is not found by the id in it.
    name = record.id if found.path.name == record.id else str(found.path)
    fine_tuning = [kept.command("run", "FILE", f"model={name}")] * record.is_pretraining
    facts = [kept.command("show", name, "--all")] * (not every)
    console.print_next(kept.command("report", name), *fine_tuning, *facts)


def _predictions_table(lines: Sequence[Line], table: Predictions | None) -> FittedTable:
    """A table of predictions, the wrong ones marked; of an unknown task type of all that was saved."""
    if table is None:
        wrong = [line["gold"] not in (None, line["prediction"]) for line in lines]
        cells = [{name: value for name, value in line.items() if ":" not in name} for line in lines]
    else:
        wrong, cells = table.wrong.tolist(), [_cells(table, row) for row in range(len(table))]
    names = [name for name in cells[0] if any(each.get(name) not in (None, "", [], ()) for each in cells)]
    rows = [
        (Text("x", "red") if bad else "", *(as_plain_text(each[name]) for name in names))
        for bad, each in zip(wrong, cells, strict=True)
    ]
    headings = [Column(name=""), *(Column(name=name, words=True) for name in names)]
    return FittedTable(title="", columns=headings, rows=rows, ruled=True)


def _cells(table: Predictions, row: int) -> dict[str, Any]:
    """The row's fields, label, prediction and confidence."""
    sides = dict(zip(SIDES, (table.listed(row, "gold"), table.listed(row, "prediction")), strict=True))
    return table.fields(row) | sides | {"confidence": table.sure(row)}


def print_diagnosis(console: Terminal, record: RunRecord, given: GivenOptions, *, folder: RunFolder) -> set[str]:
    """Prints cause, evidence and command of what is wrong, if anything is; returns the notes that it says too."""
    told = set[str]()
    for cause in diagnosis_of(record, folder).causes[:1]:
        console.print_line(f"diagnosis: {cause.name}", style="bold yellow")
        console.print_line(f"  {cause.evidence}")
        if cause.words:  # not broken into lines, so that it can be pasted
            console.print_command((replace(given, data=None) if DATA in cause.words else given).command(*cause.words))
        told |= set(cause.notes)
    return told
