"""`finetune check`: checks data, or shows what a recipe's run would use."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Escape, Json, Out, Quiet, Replace, complete
from finetune.cli.asking import asking
from finetune.cli.console import STYLES, facts_table, standard_output
from finetune.cli.libraries import load_libraries, loading
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line, with_options
from finetune.cli.tables import layout_table
from finetune.cli.terminal import echo
from finetune.commands.check.api import Findings, findings_of
from finetune.commands.check.fix import require_place_for_copy
from finetune.data.detect import BY_SUFFIX
from finetune.data.files import is_data
from finetune.data.messages import noun, places, so_many
from finetune.data.source import source_of
from finetune.data.writing import encoding_note, written_suffix
from finetune.errors import UserError
from finetune.runs.toml import typed_settings
from finetune.task_types.first_rows import describe_rows, file_line
from finetune.task_types.pretraining.own import column_words
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import with_first_runs, with_parents
from finetune.training.targets import expand_targets, split_arguments

ROWS_SHOWN = 5


def check_command(
    targets: Annotated[
        list[str],
        typer.Argument(help="A recipe or your data, and settings as key=value.", autocompletion=complete),
    ],
    data: Data = None,
    limit: Annotated[int | None, typer.Option(help="For a recipe: use at most N rows of each split.")] = None,
    device: Device = None,
    fix: Annotated[Path | None, typer.Option(help="For data: write a fixed copy to this file.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="For data: exit with 1 on warnings too.")] = False,
    escape: Escape = False,
    force: Replace = False,
    out: Out = RESULTS,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prints facts of a recipe, or findings in data; exits with 1 if the data has an error."""
    names, settings = split_arguments(targets)
    settings |= {} if limit is None else {"limit": limit}
    if escape and fix is None:
        raise UserError("--escape-formulas applies to the file that --fix writes", "Add --fix FILE, or leave it out")
    if not any(map(is_data, names)):
        if fix is not None:
            raise UserError("--fix applies to data", "Name an existing data file")
        planned = with_parents(with_first_runs(expand_targets(names, settings), out))
        _check_recipes(planned, data, device, as_json=as_json, quiet=quiet)
        return
    if len(names) > 1:
        raise UserError(f"{' and '.join(names)} are {len(names)} things to check", "Check one at a time")
    (target,) = names
    if fix is not None:
        require_place_for_copy(fix, target, force=force)
    report = asking(lambda given: findings_of(target, given, out), settings)
    report = replace(report, findings=tuple(replace(one, remedy=with_options(one.remedy)) for one in report.findings))
    fixes = {} if fix is None else report.fix(fix, escape_formulas=escape, force=force)
    if as_json:
        echo(json.dumps(report.as_json() | ({} if fix is None else {"fixed": str(fix), "fixes": fixes})))
    else:
        _print_report(report)
        _print_next(target, settings, report, fix, fixes, out)
    if report.fails(strict=strict):
        raise typer.Exit(1)


def _check_recipes(
    planned: list[ResolvedRun], data: Path | None, device: str | None, *, as_json: bool, quiet: bool
) -> None:
    """Prints the data and settings of runs, and the first rows as tokens.

    A run from another run's encoder is checked with that one's own model, of the same vocabulary and size.
    """
    load_libraries("" if as_json or quiet else loading(planned), "finetune.commands.check.recipe")
    from finetune.commands.check.recipe import check_recipe

    console = standard_output()
    for run in planned:
        preview = check_recipe(run, source=source_of(data), device=device)
        if as_json:
            echo(json.dumps(preview))
            continue
        for title, facts in preview["facts"].items():
            console.print(facts_table(title, facts))
        for example in preview["examples"]:
            for line in (*map(" ".join, example["tokens"]), f"-> {example['label']}"):
                console.print_line(line)


def _print_report(report: Findings) -> None:
    """Prints files, first rows, columns, findings after their coloured codes, and their counts."""
    console = standard_output()
    for part in report.parts:
        console.print_line(file_line(part.split, part.table))
    for part in report.parts[:1]:
        for line in describe_rows(report.layout, part.table, split=part.by_column):
            console.print_line(line)
        console.print(layout_table(report.layout))
    if report.corpus is not None:
        console.print(facts_table("text", {"column": column_words(report.layout), **report.corpus.shown()}))
    for finding in report.findings:
        code = f"{finding.severity} {finding.code}"
        console.print_line(f"{code}: {finding.what}", style=STYLES[finding.severity], styled=len(code))
        rows = list(zip(finding.rows, finding.lines, strict=True))
        where = f": {places(rows, most=ROWS_SHOWN, count=finding.count)}" if finding.count else ""
        console.print_line(f"  {finding.file}{where}")
        console.print_line(f"  -> {finding.remedy}")
    console.print(report.counted)


def _print_next(
    target: str, settings: dict[str, Any], report: Findings, fix: Path | None, fixes: dict[str, int], out: Path
) -> None:
    """Prints what was fixed and what remains in the copy, then what to do next: train if there is no error, else fix
    the data.
    """
    console, options = standard_output(), GivenOptions(out=out)
    if fix is None:
        suffix, typed = written_suffix(Path(target)), typed_settings(settings)
        copy = f"fixed{suffix if suffix in BY_SUFFIX else '.csv'}"
        training = [] if report.counts["error"] else [options.command("run", target, *typed)]
        fixing = [options.command("check", target, *typed, "--fix", copy)] if report.findings else []
        console.print_next(*training, *fixing)
        return
    console.print(facts_table(str(fix), fixes or {"fixed": "no fixes needed; file copied"}))
    if note := encoding_note(fix, report.parts[0].table.form):
        console.print_line(note_line(note))
    settings = {name: value for name, value in settings.items() if name != "encoding"}  # the copy is in UTF-8
    console.print_line(_remaining(fix, settings, out))
    console.print_next(options.command("run", str(fix), *typed_settings(settings)))


def _remaining(fix: Path, settings: dict[str, Any], out: Path) -> str:
    """`4 findings remain in fixed.csv: mojibake (row 3), vocabulary and 2 notes`."""
    try:
        found = [finding for finding in findings_of(str(fix), settings, out).findings if finding.file == str(fix)]
    except UserError as error:
        return f"{fix} has an error: {error}"
    if not found:
        return f"no finding remains in {fix}"
    listed = []
    for finding in found:
        if finding.severity != "note":
            rows = places([(row, row) for row in finding.rows], most=3, count=finding.count)
            listed.append(finding.code + (f" ({rows})" if finding.rows else ""))
    notes = [so_many(len(found) - len(listed), "note")] if len(listed) < len(found) else []
    parts = " and ".join([*([", ".join(listed)] if listed else []), *notes])
    return f"{so_many(len(found), 'finding')} {noun(len(found), 'remains', 'remain')} in {fix}: {parts}"
