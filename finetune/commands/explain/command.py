"""`finetune explain`: what each word adds to a prediction."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from finetune.cli.arguments import RESULTS, Device, Json, Out, Quiet, Replace, TaskOf
from finetune.cli.console import standard_error, standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.options import note_line
from finetune.cli.progress import watching
from finetune.cli.terminal import echo, one_line, say
from finetune.commands.explain.api import MOST_ROWS, require_one
from finetune.data.messages import noun
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.inference.explanation import ExplainedRow, Explanation, WordPart, signed

WORD, BAR = 24, 19  # columns of a word, and of the longest bar on either side, if there are as many
OTHERS = 14  # columns of a line that are no word and no bar
MOST_WORDS = 40  # words that are shown of a prediction
MINUS, PLUS = "red", "green"


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
    load_libraries("" if quiet else f"loading {model}", "finetune.inference.explain")
    from finetune.api.model import loaded
    from finetune.inference.explanation import require_captum

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


def explained_lines(row: ExplainedRow, width: int) -> Iterator[Text]:
    """The prediction first, then each explanation, with bars that fit a width in columns."""
    yield _prediction(row)
    if row.note:
        yield Text(f"note: {row.note}")
    for one in row.explanations:
        yield Text()
        yield from _explanation(one, width - OTHERS)
    if not row.explanations:
        yield Text("nothing to explain: no entity is predicted; --word WORD explains the tag of a word")


def _prediction(row: ExplainedRow) -> Text:
    sure = "" if row.confidence is None else f"  (confidence {100 * row.confidence:.1f} %)"
    name = f"row {one_line(row.id)}: " if row.id else ""
    gold = f"; its label is {'the same' if row.gold == row.prediction else one_line(row.gold)}" if row.gold else ""
    return Text.assemble(name, "prediction ", (one_line(row.prediction), "bold"), sure, gold)


def _explanation(one: Explanation, room: int) -> Iterator[Text]:
    sure = "" if one.confidence is None else f" ({100 * one.confidence:.1f} %)"
    yield Text.assemble("what the words add to ", (one_line(one.label), "bold"), sure)
    shown = _strongest(one.words)
    several = len({word.text_name for word in one.words}) > 1
    before = ""
    for word in shown:
        if several and word.text_name != before:
            yield Text(f"{word.text_name}:", style="dim")
        before = word.text_name
        yield _bar(word, word.added / one.full, room)
    if rest := len(one.words) - len(shown):
        others = one.added - sum(word.added for word in shown)
        more = " more" * bool(shown)
        yield Text(f"  {rest}{more} {noun(rest, 'word adds', 'words add')} {signed(others)}{' together' * (rest > 1)}")
    yield from map(Text, _sums(one))


def _strongest(words: Sequence[WordPart]) -> list[WordPart]:
    """The words that add or take most, in the order of the text; none whose part is too small to be shown."""
    order = sorted(range(len(words)), key=lambda index: -abs(words[index].added))[:MOST_WORDS]
    return [words[index] for index in sorted(order) if signed(words[index].added) != signed(0)]


def _bar(word: WordPart, share: float, room: int) -> Text:
    name, bar = one_line(word.word), min(BAR, max(1, room // 3))
    most = max(4, min(WORD, room - 2 * bar))
    if cell_len(name) > most:
        name = f"{set_cell_size(name, most - 3).rstrip()}..."
    size = round(bar * abs(share))
    minus, plus = (size, 0) if share < 0 else (0, size)
    return Text.assemble(
        f"  {set_cell_size(name, most)} {signed(word.added):>8}  {' ' * (bar - minus)}",
        ("-" * minus, MINUS),
        "|",
        ("+" * plus, PLUS),
    )


def _sums(one: Explanation) -> Iterator[str]:
    way = f"from {signed(one.masked)} with all words masked to {signed(one.value)}"
    yield f"sum {signed(one.added)} of {signed(one.difference)}: {way}"
    yield from filter(None, [one.without_words])
    apart = f"{100 * one.gap:.1f} % apart after {one.steps} steps"
    if not one.adds_up:
        apart += ", more than the 5 % allowed: do not rely on these parts"
    yield apart
