"""`finetune tokenizer`: trains a vocabulary, and prints how it splits held-out text."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import Quiet
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import watching
from finetune.cli.terminal import say
from finetune.commands.tokenizer.api import write_vocabulary
from finetune.data.documents import read_documents
from finetune.data.messages import percent, so_many
from finetune.errors import UserError, nearest
from finetune.models.tokenizers.train import SIZE
from finetune.training.targets import split_arguments

SETTINGS = ("text", "encoding")  # of how the corpus is read


def tokenizer_command(
    corpus: Annotated[
        list[str], typer.Argument(help="Files or folders of text; text=COLUMN for tables, encoding=NAME.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")],
    size: Annotated[str | None, typer.Option(help=f"Tokens (default: {SIZE}).")] = None,
    cased: Annotated[bool, typer.Option("--cased", help="Keep capitals and accents.")] = False,
    quiet: Quiet = False,
) -> None:
    """Writes the folder, and prints how it splits held-out documents."""
    paths, settings = split_arguments(corpus)
    for name in settings:
        if name not in SETTINGS:
            remedy = f"{nearest(name, [*SETTINGS])}It has {' and '.join(SETTINGS)}"
            raise UserError(f"there is no setting '{name}'", remedy)
    documents = read_documents(paths, column=str(settings.get("text", "")), encoding=str(settings.get("encoding", "")))
    load_libraries()
    with watching(quiet=quiet) as watch:
        made = write_vocabulary(documents, output, size=size, cased=cased, watch=watch)
    say(f"{so_many(made.documents[0], 'document')}, {so_many(made.tokens, 'token')} -> {output}")
    held_out = so_many(made.documents[1], "held-out document")
    say(f"{held_out}: {made.tokens_per_word:.2f} tokens per word, {percent(made.unknown)} unknown")
