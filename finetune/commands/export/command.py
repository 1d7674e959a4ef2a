"""`finetune export`: writes a model as a graph, and prints how it compares with the run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Data, Json, Out, Quiet, TaskOf
from finetune.cli.console import as_plain_text, facts_table, standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.next_commands import GivenOptions
from finetune.cli.progress import watching
from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import echo
from finetune.commands.export.plan import TOLERANCE, Export, require_export
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
    require_export(folder, int8=int8, tolerance=tolerance, force=force)
    silent = quiet or as_json
    load_libraries("" if silent else f"{folder}: loading {model}", "finetune.commands.export.exporting")
    from finetune.commands.export.exporting import export_model

    with watching(quiet=silent) as watch:
        found = export_model(
            model, folder, int8=int8, tolerance=tolerance, force=force, task=task, source=source_of(data), out=out,
            watch=watch,
        )  # fmt: skip
    if as_json:
        echo(json.dumps(found.as_json(), default=str))
        return
    _print_check(found)
    if not quiet:
        standard_output().print_next(GivenOptions().command("predict", str(folder), "FILE"), piped=True)


def _print_check(found: Export) -> None:
    """The export next to its run, and the first rows with another answer."""
    about, check, console = found.facts, found.facts.check, standard_output()
    assert check is not None  # an export is checked before it is there
    facts = {"size": f"{size_words(found.size)}, of the run {size_words(found.size_before)}"}
    if (score := check.score) is not None:
        interval = "" if score.interval is None else " to ".join(f"{each:+.1f}" for each in score.interval)
        tested = f" (95 %: {interval}, p {score.p:.4f})" if interval else ""
        facts[score.metric] = f"{score.export:.1f}, of the run {score.run:.1f}: {score.difference:+.1f}{tested}"
    facts["answers alike"] = f"{check.equal:,} of {check.rows:,}"
    facts["logits"] = f"differ by {check.largest_difference:.2g} at most"
    precision = about.precision + " (7 bits)" * (about.bits == 7)
    console.print(facts_table(f"{found.folder}: {about.engine} {precision}, on {so_many(check.rows)} of dev", facts))
    if found.changed:
        ties = ", where the run's logits are equal but for rounding" * (about.precision == "fp32")
        names = ("id", "text", "run", "export")
        rows = [
            [shown(as_plain_text(getattr(one, name)), 120) for name in names] for one in found.changed[:MOST_CHANGED]
        ]
        headings = [Column(name=name, words=name != "id") for name in names]
        title = f"{so_many(len(found.changed))} with another answer{ties}"
        console.print(FittedTable(title=title, columns=headings, rows=rows, ruled=True))
