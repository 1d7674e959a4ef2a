"""`finetune check`: checks data, or shows what a recipe's run would use."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finetune.checks.finding import FileFinding
from finetune.cli.arguments import RESULTS, Data, Device, Escape, Json, Out, Quiet, Replace, complete
from finetune.cli.asking import asking
from finetune.cli.console import STYLES, facts_table, standard_output
from finetune.cli.libraries import load_libraries, loading
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line, with_options
from finetune.cli.tables import layout_table
from finetune.cli.terminal import echo
from finetune.commands.check.api import findings_of
from finetune.commands.check.fix import require_place_for_copy
from finetune.commands.check.run_checks import Findings
from finetune.data.detect import BY_SUFFIX
from finetune.data.files import is_data
from finetune.data.messages import noun, places, so_many
from finetune.data.source import source_of
from finetune.data.writing import encoding_note, written_suffix
from finetune.errors import UserError
from finetune.runs.toml import typed_settings
from finetune.task_types.first_rows import describe_rows, file_line
from finetune.task_types.pretraining.own import column_words, is_text
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import with_first_runs, with_parents
from finetune.training.targets import expand_targets, split_arguments

if TYPE_CHECKING:
    from finetune.commands.check.recipe import Preview

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
    if any(map(is_data, names)):
        if len(names) > 1:
            way = "Check one at a time; `finetune predict RUN FILE` notes where a file is unlike the dev rows of a run"
            raise UserError(f"{' and '.join(names)} are {len(names)} things to check", way)
        _check_data(names[0], settings, fix, out, escape=escape, force=force, strict=strict, as_json=as_json)
        return
    if fix is not None:
        raise UserError("--fix applies to data", "Name an existing data file")
    planned = with_first_runs(expand_targets(names, settings), out)
    _check_recipes(with_parents(planned), data, device, as_json=as_json, quiet=quiet)


def _check_recipes(
    planned: list[ResolvedRun], data: Path | None, device: str | None, *, as_json: bool, quiet: bool
) -> None:
    """Prints the data and settings of runs.

    A run from another run's encoder is checked with that one's own model, of the same vocabulary and size.
    """
    load_libraries("" if as_json or quiet else loading(planned), "finetune.commands.check.recipe")
    from finetune.commands.check.recipe import check_recipe as preview

    for one in planned:
        found = preview(one, source=source_of(data), device=device)
        if as_json:
            echo(json.dumps(found.as_json()))
        else:
            _print_preview(found)


def _print_preview(found: "Preview") -> None:
    console = standard_output()
    for title, facts in found.facts.items():
        console.print(facts_table(title, facts))
    for example in found.examples:
        for tokens in example["tokens"]:
            console.print_line(" ".join(tokens))
        console.print_line(f"-> {example['label']}")


def _check_data(
    target: str,
    settings: dict[str, Any],
    fix: Path | None,
    out: Path,
    *,
    escape: bool,
    force: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Prints findings and writes the fixed copy; exits with 1 for an error or, with `strict`, a warning."""
    if fix is not None:
        require_place_for_copy(fix, target, force=force)
        if is_text(target, {key.removeprefix("options."): value for key, value in settings.items()}):
            raise UserError(f"{target}: unlabelled text has no cells to fix", "Leave --fix out")
    report = _with_options(asking(lambda given: findings_of(target, given, out), settings))
    fixes = {} if fix is None else report.fix(fix, escape_formulas=escape, force=force)
    if as_json:
        echo(json.dumps(report.as_json() | ({} if fix is None else {"fixed": str(fix), "fixes": fixes})))
    else:
        _print_report(report)
        if fix is not None:
            _print_fixed(report, fix, fixes, settings, out)
    if not as_json:
        _print_next(target, settings, report, fix, out)
    if report.fails(strict=strict):
        raise typer.Exit(1)


def _with_options(report: Findings) -> Findings:
    """The report with options of the command in its remedies."""
    return replace(report, findings=tuple(replace(one, remedy=with_options(one.remedy)) for one in report.findings))


def _print_fixed(report: Findings, fix: Path, fixes: dict[str, int], settings: dict[str, Any], out: Path) -> None:
    """Prints the fixes, the encoding of the copy where that may surprise, and the remaining issues."""
    console = standard_output()
    console.print(facts_table(str(fix), fixes or {"fixed": "no fixes needed; file copied"}))
    if note := encoding_note(fix, report.parts[0].table.form):
        console.print_line(note_line(note))
    console.print_line(_remaining(fix, {name: value for name, value in settings.items() if name != "encoding"}, out))


def _remaining(fix: Path, settings: dict[str, Any], out: Path) -> str:
    """`4 findings remain in fixed.csv: mojibake (row 3), vocabulary and 2 notes`."""
    try:
        found = [finding for finding in findings_of(str(fix), settings, out).findings if finding.file == str(fix)]
    except UserError as error:
        return f"{fix} has an error: {error}"
    if not found:
        return f"no finding remains in {fix}"
    listed = [_named(finding) for finding in found if finding.severity != "note"]
    notes = [so_many(len(found) - len(listed), "note")] * (len(listed) < len(found))
    parts = " and ".join([*([", ".join(listed)] if listed else []), *notes])
    return f"{so_many(len(found), 'finding')} {noun(len(found), 'remains', 'remain')} in {fix}: {parts}"


def _named(finding: FileFinding) -> str:
    """`mojibake (rows 3, 9)`."""
    rows = [(row, row) for row in finding.rows]
    return finding.code + (f" ({places(rows, most=3, count=finding.count)})" if rows else "")


def _print_next(target: str, settings: Mapping[str, Any], report: Findings, fix: Path | None, out: Path) -> None:
    """What to do next: train if there is no error, else fix the data."""
    kept, data = GivenOptions(out=out), str(fix or target)
    suffix = written_suffix(Path(target))
    copy = f"fixed{suffix if suffix in BY_SUFFIX else '.csv'}"
    typed = typed_settings({k: value for k, value in settings.items() if fix is None or k != "encoding"})
    fixing = [kept.command("check", target, *typed, "--fix", copy)] * (fix is None and bool(report.findings))
    training = [kept.command("run", data, *typed)] * (fix is not None or not report.counts.get("error"))
    standard_output().print_next(*training, *fixing)


def _print_report(report: Findings) -> None:
    """Prints files, first rows, columns, findings and their counts."""
    console = standard_output()
    for part in report.parts:
        console.print_line(file_line(part.split, part.table))
    if report.parts:
        for line in describe_rows(report.layout, report.parts[0].table, split=report.parts[0].by_column):
            console.print_line(line)
        console.print(layout_table(report.layout))
    if report.corpus is not None:
        console.print(facts_table("text", {"column": column_words(report.layout), **report.corpus.shown()}))
    _print_findings(report.findings)
    console.print(report.counted)


def _print_findings(findings: Sequence[FileFinding]) -> None:
    """Prints each finding after its coloured code: what it is, where, and how to fix it."""
    console = standard_output()
    for finding in findings:
        code = f"{finding.severity} {finding.code}"
        console.print_line(f"{code}: {finding.what}", style=STYLES[finding.severity], styled=len(code))
        console.print_line(f"  {_place(finding)}")
        console.print_line(f"  -> {finding.remedy}")


def _place(finding: FileFinding) -> str:
    """`reviews.csv: rows 3, 17, 40 and 9 more; lines 4, 18, 41`."""
    if not finding.count:
        return finding.file
    found = list(zip(finding.rows, finding.lines, strict=True))
    return f"{finding.file}: {places(found, most=ROWS_SHOWN, count=finding.count)}"
