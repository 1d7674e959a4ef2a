"""`finetune explain`: what each word adds to a prediction."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Device, Json, Out, Quiet, Replace, TaskOf
from finetune.cli.console import standard_error, standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, say
from finetune.commands.explain.api import MOST_ROWS, require_one
from finetune.commands.explain.words import explained_lines
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.inference.explain.explanation import ExplainedRow


def explain_command(
    model: Annotated[str, typer.Argument(help="A run (folder, id, or its task), or any fine-tuned checkpoint.")],
    texts: Annotated[
        list[str] | None, typer.Argument(help="A text, or two; question and context; context and choices.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Explain this label, tag, answer or choice instead.")] = None,
    word: Annotated[str | None, typer.Option(help="Explain the tag of this word, not those of entities.")] = None,
    row: Annotated[str | None, typer.Option(help="The id of a row that the run predicted.")] = None,
    split: Annotated[str | None, typer.Option(help="The split of --row; default: the task's first dev split.")] = None,
    rows: Annotated[Path | None, typer.Option(help=f"A data file, of which the first {MOST_ROWS} rows.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write an HTML page.")] = None,
    force: Replace = False,
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prints the words with what they add to the prediction, which adds up to the logits within 5 %."""
    require_one(texts or [], row, rows)
    if output is not None:
        require_replaceable_output(output, endings=PAGE, reads=[model, rows], force=force)
    load_libraries("" if quiet else f"loading {model}", "finetune.inference.explain.explain")
    from finetune.api.model import loaded
    from finetune.inference.explain.gradients import require_captum

    require_captum()
    with watching(quiet=quiet) as watch:
        given = loaded(model, task=task, out=out, device=device, watch=watch)
        found = given.explain(*texts or (), row=row, split=split, rows=rows, label=label, word=word)
    if output is not None:
        say(f"{found.write(output, force=force)}: {output.stat().st_size / 1e6:.2f} MB")
    elif as_json:
        for each in found.rows:
            echo(json.dumps(each.facts(), ensure_ascii=False))
    else:
        _print(found.rows)
    if not quiet:
        for note in found.notes:
            standard_error().print_line(note_line(note))


def _print(done: Sequence[ExplainedRow]) -> None:
    console = standard_output()
    for number, each in enumerate(done):
        if number:
            console.print()
        for line in explained_lines(each, console.width):
            console.print(line, soft_wrap=not console.is_terminal)
