"""`finetune export`: writes a model as a graph, and prints how it compares with the run."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.cli.arguments import RESULTS, Data, Json, Out, Quiet, TaskOf
from finetune.cli.console import as_plain_text, standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.next_commands import GivenOptions
from finetune.cli.progress import watching
from finetune.cli.tables import Column, FittedTable, columns
from finetune.cli.terminal import echo, one_line
from finetune.commands.export.result import Export
from finetune.commands.export.wanted import TOLERANCE, wanted_export
from finetune.data.messages import shown, size_words, so_many
from finetune.data.source import source_of

MOST_CHANGED = 10  # rows that are printed


def export_command(
    model: Annotated[
        str, typer.Argument(help="A run (folder, id, or its task), or any fine-tuned checkpoint (folder or Hub name).")
    ],
    folder: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")] = Path("exported"),
    int8: Annotated[bool, typer.Option("--int8", help="Keep the encoder's weights in 8 bits.")] = False,
    tolerance: Annotated[float, typer.Option(help="Points of the headline that int8 may lose on dev.")] = TOLERANCE,
    task: TaskOf = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an export.")] = False,
    data: Data = None,
    out: Out = RESULTS,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prints the size before and after, and how the export answers the run's dev rows."""
    wanted = wanted_export(folder, int8=int8, tolerance=tolerance, force=force)
    silent = quiet or as_json
    load_libraries("" if silent else f"{folder}: loading {model}", "finetune.commands.export.exporting")
    from finetune.commands.export.exporting import export_model

    with watching(quiet=silent) as watch:
        found = export_model(model, wanted, task=task, source=source_of(data), out=out, watch=watch)
    if as_json:
        echo(json.dumps(found.as_json(), default=str))
        return
    console = standard_output()
    console.print(_check_table(found))
    if found.changed:
        console.print(_changed_table(found))
    if not quiet:
        console.print_next(GivenOptions().command("predict", str(folder), "FILE"), piped=True)


def _check_table(found: Export) -> FittedTable:
    """The run next to its export."""
    check = found.facts.check
    assert check is not None  # an export is checked before it is there
    rows = [("size", size_words(found.size_before), size_words(found.size), "")]
    if (score := check.score) is not None:
        interval = "" if score.interval is None else " to ".join(f"{each:+.1f}" for each in score.interval)
        tested = f"{score.difference:+.1f}" + (f" (95 %: {interval}, p {score.p:.4f})" if interval else "")
        rows.append((score.metric, f"{score.run:.1f}", f"{score.export:.1f}", tested))
    rows.append(("answers alike", "", f"{check.equal:,} of {check.rows:,}", ""))
    rows.append(("logits", "", "", f"{check.largest_difference:.2g} at most"))
    precision = found.facts.precision + (f" ({found.facts.bits} bits)" if found.facts.bits == 7 else "")
    title = f"{found.folder}: {found.facts.engine} {precision}, on {so_many(check.rows)} of dev"
    right = ("run", "export")
    return FittedTable(
        title=one_line(title), columns=columns("", "run", "export", "difference", right=right), rows=rows
    )


def _changed_table(found: Export) -> FittedTable:
    """Some of the rows with another answer."""
    ties = ", where the run's logits are equal but for rounding" * (found.facts.precision == "fp32")
    title = f"{so_many(len(found.changed))} with another answer{ties}"
    rows = [tuple(map(_cell, (one.id, one.text, one.run, one.export))) for one in found.changed[:MOST_CHANGED]]
    headings = [Column(name="id"), *(Column(name=name, words=True) for name in ("text", "run", "export"))]
    return FittedTable(title=one_line(title), columns=headings, rows=rows, ruled=True)


def _cell(value: Any) -> str:
    return shown(str(as_plain_text(value)), 120)
