"""`finetune explain`: what each word adds to a prediction."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Device, Json, Out, Quiet, TaskOf
from finetune.cli.console import standard_error, standard_output
from finetune.cli.explained_words import explained_lines
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import ProgressDisplay
from finetune.cli.terminal import echo
from finetune.data.paths import require_place
from finetune.errors import UserError
from finetune.inference.explain.explanation import ExplainedRow
from finetune.runs.events import unwatched
from finetune.task_types.explained import Asked
from finetune.task_types.registry import find

MOST_ROWS = 20  # of a file


def explain(
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
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prints the words with what they add to the prediction, which adds up to the logits within 5 %."""
    if sum(given is not None for given in (texts or None, row, rows)) != 1:
        raise UserError("give one of a text, --row and --rows", 'For example: finetune explain RUN "a good film"')
    if output is not None:
        require_place(output)
    named = None if task is None else find(task)
    load_libraries("" if quiet else f"loading {model}", "finetune.inference.explain.explain")
    from finetune.inference.explain.explain import explain as explained
    from finetune.inference.explain.gradients import require_captum
    from finetune.inference.explain.rows import row_of_run, row_of_texts, rows_of_file
    from finetune.inference.predictor import load

    require_captum()
    watch = unwatched if quiet else ProgressDisplay(standard_error())
    predictor = load(model, task=named, out=out, watch=watch, device=device)
    notes: list[str] = []
    if rows is not None:
        chosen, notes = rows_of_file(predictor, rows, most=MOST_ROWS)
    elif row is not None:
        chosen = [row_of_run(predictor, model, row, split=split, out=out)]
    else:
        chosen = [row_of_texts(predictor, texts or [])]
    done = [explained(predictor, each, Asked(label=label, word=word)) for each in chosen]
    if output is not None:
        _write(done, model, output)
    elif as_json:
        for each in done:
            echo(json.dumps(each.facts(), ensure_ascii=False))
    else:
        _print(done)
    if not quiet:
        for note in notes:
            standard_error().print_line(f"note: {note}")


def _print(done: Sequence[ExplainedRow]) -> None:
    console = standard_output()
    for number, each in enumerate(done):
        if number:
            console.print()
        for line in explained_lines(each):
            console.print(line, soft_wrap=True)


def _write(done: Sequence[ExplainedRow], model: str, output: Path) -> None:
    from finetune.analysis.explain.page import write_explained

    size = write_explained(done, output, model=model)
    echo(f"{output}: {size / 1e6:.2f} MB")
