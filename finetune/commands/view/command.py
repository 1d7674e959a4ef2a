"""`finetune view`: a page that shows the inside of an encoder."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Out, Quiet, Replace
from finetune.cli.libraries import load_libraries
from finetune.cli.terminal import say
from finetune.cli.which_run import say_which


def view_command(
    model: Annotated[str, typer.Argument(help="A Hub name, a folder, minilm, or a run.")],
    text: Annotated[str | None, typer.Argument(help="A sentence.")] = None,
    second: Annotated[str | None, typer.Argument(help="A second sentence, for a pair.")] = None,
    word: Annotated[
        str | None,
        typer.Option(help="The word whose vectors are shown in many sentences; default: bank, or a word of your text."),
    ] = None,
    sentences: Annotated[
        Path | None, typer.Option(help="A file of sentences with the word, or of MEANING<tab>SENTENCE.")
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path("view.html"),
    force: Replace = False,
    out: Out = RESULTS,
    quiet: Quiet = False,
) -> None:
    """Writes the page and prints its size. Without a text it shows a pair of ours."""
    if not quiet:
        say_which([model], out)
    load_libraries("" if quiet else f"view: loading {model}", "finetune.commands.view.look")
    from finetune.commands.view.api import view as write

    write(model, text, second, word=word, sentences=sentences, path=output, out=out, force=force)
    say(f"{output}: {output.stat().st_size / 1e6:.1f} MB")
