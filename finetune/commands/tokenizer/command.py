"""`finetune tokenizer`: trains a vocabulary, and prints how it splits held-out text."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import Quiet
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import watching
from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import say
from finetune.commands.tokenizer.api import COLUMNS, write_vocabulary
from finetune.data.documents import read_documents
from finetune.data.messages import so_many
from finetune.errors import UserError, nearest
from finetune.models.tokenizers.train import KINDS, SIZE
from finetune.training.targets import split_arguments

SETTINGS = ("text", "encoding")  # of how the corpus is read
TokenizerChoice = StrEnum("Kind", [(name, name) for name in KINDS])  # type: ignore[misc]
DEFAULT = TokenizerChoice("wordpiece")


def tokenizer_command(
    corpus: Annotated[
        list[str], typer.Argument(help="Files or folders of text; text=COLUMN for tables, encoding=NAME.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")],
    size: Annotated[str | None, typer.Option(help=f"Tokens (default: {SIZE}).")] = None,
    kind: Annotated[TokenizerChoice, typer.Option(help="Kind of the vocabulary.")] = DEFAULT,
    cased: Annotated[bool, typer.Option("--cased", help="Keep capitals and accents, as BPE always does.")] = False,
    quiet: Quiet = False,
) -> None:
    """Writes the folder and prints the table."""
    paths, settings = split_arguments(corpus)
    for name in settings:
        if name not in SETTINGS:
            remedy = f"{nearest(name, [*SETTINGS])}It has {' and '.join(SETTINGS)}"
            raise UserError(f"there is no setting '{name}'", remedy)
    documents = read_documents(paths, column=str(settings.get("text", "")), encoding=str(settings.get("encoding", "")))
    load_libraries()
    with watching(quiet=quiet) as watch:
        made = write_vocabulary(documents, output, size=size, kind=kind.value, cased=cased, watch=watch)
    headings = [Column(name=name, right=name != COLUMNS[0]) for name in COLUMNS]
    standard_output().print(FittedTable(title=made.title, columns=headings, rows=made.lines()))
    say(f"{so_many(made.documents[0], 'document')} -> {output}")
