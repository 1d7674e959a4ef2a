"""What the commands print: runs, recipes, and what `check` found; cli.py imports it only where it is needed."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from finetune.checks.fix import require_place, write_mended
from finetune.checks.recipe import check as preview
from finetune.checks.run_checks import check_data
from finetune.cli.asking import asking
from finetune.cli.display import (
    Terminal,
    facts_table,
    groups_table,
    in_words,
    predictions_table,
    record_table,
    standard_error,
    standard_output,
)
from finetune.cli.showing import file_line, finding_lines, layout_table, summary
from finetune.cli.summaries import summary_lines, summary_table
from finetune.cli.terminal import echo
from finetune.data.files import is_data
from finetune.data.reading import table_of
from finetune.data.source import source_of
from finetune.runs.dev_choices import all_notes
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_predictions
from finetune.runs.recipe import to_toml
from finetune.runs.record import RunRecord, load_record
from finetune.task_types.first_rows import first_rows
from finetune.task_types.options import option_values
from finetune.task_types.own_data import own_data
from finetune.training.targets import Planned, load_target


def print_guesses(names: list[str], planned: list[Planned]) -> None:
    """Of own data among the targets' names, what its files are and what their columns were taken for."""
    console = standard_error()
    targets = {task for name in names if is_data(name) for task in (name, f"./{name}")}
    tasks = [one.task for one in planned if one.recipe.task in targets]
    for read in {id(read): read for task in tasks if (read := own_data(task)) is not None}.values():
        for split, file in read.files.items():
            table = table_of(file, read.encoding)
            console.print(file_line(split, table), soft_wrap=True)
            if split == "train":
                for line in first_rows(read.layout, table):
                    console.print(line, soft_wrap=True)
        console.print(layout_table(read.layout))


def print_records(records: list[RunRecord], *, as_json: bool, quiet: bool, discarded: bool, diverged: int) -> None:
    """Finished runs, and where they are several what they say together."""
    console = standard_output()
    for record in records:
        if as_json:
            echo(record.model_dump_json())
        elif quiet:
            echo(f"{record.task} {record.id}  {in_words(record.scores)}")
        else:
            _print_record(console, record)
    if len(records) > 1 and not as_json:
        console.print(summary_table(records))
        for text in summary_lines(records, discarded=discarded, diverged=diverged):
            console.print(text, soft_wrap=True)
    if len(records) == 1 and not as_json and not quiet:
        number = records[0].id
        console.print(f"next: finetune predict {number} FILE, finetune report {number}")


def print_recipe(target: str, settings: dict[str, Any], *, as_json: bool) -> None:
    """A recipe with every setting that it leaves to defaults."""
    planned = load_target(target, settings)
    recipe = planned.recipe
    init_seed, data_seed = recipe.seeds
    every = option_values(planned.task)
    options = recipe.options | {name: value for name, value in every.items() if value is not None}
    complete = recipe.model_copy(update={"init_seed": init_seed, "data_seed": data_seed, "options": options})
    echo(complete.model_dump_json() if as_json else to_toml(complete.model_dump(exclude_none=True)).rstrip())


def print_run(found: RunFolder, predictions: int, *, as_json: bool) -> None:
    """A finished run: its facts, its scores, and its first predictions."""
    record = load_record(found.record_file)
    if as_json:
        echo(record.model_dump_json())
        return
    console = standard_output()
    facts = record.model_dump(exclude={"scores", "baselines", "epochs", "headline", "notes"})
    console.print(facts_table(str(found.path), facts))
    _print_record(console, record)
    for split in record.scores if predictions else ():
        console.print(f"first {predictions} predictions of {split}, wrong ones marked x")
        console.print(predictions_table(read_predictions(found.predictions(split))[:predictions]))


def check_recipes(planned: list[Planned], data: Path | None, device: str | None, *, as_json: bool) -> None:
    """What runs would use."""
    for one in planned:
        findings = preview(one.recipe, one.task, source=source_of(data), device=device)
        if as_json:
            echo(json.dumps(asdict(findings)))
            continue
        console = standard_output()
        for title, facts in findings.facts.items():
            console.print(facts_table(title, facts))
        for example in findings.examples:
            for tokens in example["tokens"]:
                console.print(" ".join(tokens))
            console.print(f"-> {example['label']}")


def check_own_data(
    target: str, settings: dict[str, Any], fix: Path | None, *, escape: bool, strict: bool, as_json: bool
) -> None:
    """What is wrong with data, and its mended copy; ends with 1 where there is an error, or if `strict` a warning."""
    if fix is not None:
        require_place(fix, target)
    report = asking(lambda given: check_data(target, given), settings)
    mends = {} if fix is None else write_mended(report.parts[0], fix, escape=escape)
    if as_json:
        echo(json.dumps(report.as_json() | ({} if fix is None else {"fixed": str(fix), "mends": mends})))
    else:
        console = standard_output()
        for part in report.parts:
            console.print(file_line(part.split, part.table), soft_wrap=True)
        for line in first_rows(report.layout, report.parts[0].table):
            console.print(line, soft_wrap=True)
        console.print(layout_table(report.layout))
        for text in finding_lines(report.findings):
            console.print(*text, sep="", soft_wrap=True)
        console.print(summary(report))
        if fix is not None:
            console.print(facts_table(str(fix), mends or {"mended": "nothing, it is a copy"}))
    if report.fails(strict=strict):
        raise typer.Exit(1)


def _print_record(console: Terminal, record: RunRecord) -> None:
    console.print(record_table(record))
    if (groups := groups_table(record)) is not None:
        console.print(groups)
    for note in all_notes(record):
        console.print(f"note: {note}", soft_wrap=True)
