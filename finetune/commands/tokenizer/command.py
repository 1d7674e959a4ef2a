"""`finetune tokenizer`: trains a vocabulary, or extends a model's, and prints how it splits held-out text."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from finetune.cli.arguments import Quiet
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import watching
from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import say
from finetune.commands.tokenizer.api import wanted_tokenizer, write_tokenizer
from finetune.commands.tokenizer.vocabulary import COLUMNS, Vocabulary
from finetune.data.documents import Documents
from finetune.data.messages import so_many
from finetune.errors import UserError, nearest
from finetune.models.tokenizers.kinds import KINDS
from finetune.models.tokenizers.own_vocabulary import SIZE
from finetune.training.targets import split_arguments

WORDS_SHOWN = 8  # of the words that were added
SETTINGS = ("text", "encoding")
TokenizerChoice = StrEnum("Kind", [(name, name) for name in KINDS])  # type: ignore[misc]
DEFAULT = TokenizerChoice("wordpiece")


def tokenizer_command(
    corpus: Annotated[
        list[str], typer.Argument(help="Files or folders of text; text=COLUMN for tables, encoding=NAME.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")],
    size: Annotated[str | None, typer.Option(help=f"Tokens (default: {SIZE}); with --extend words, as +2000.")] = None,
    kind: Annotated[TokenizerChoice, typer.Option(help="Kind of the vocabulary.")] = DEFAULT,
    cased: Annotated[bool, typer.Option("--cased", help="Keep capitals and accents, as BPE always does.")] = False,
    extend: Annotated[
        str | None, typer.Option(help="Add words to the WordPiece of this model (Hub name, folder, minilm).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Writes the folder and prints the table."""
    wanted = wanted_tokenizer(output, size=size, kind=kind.value, cased=cased, extend=extend)
    paths, settings = split_arguments(corpus)
    _require_known(settings)
    documents = Documents(paths, column=str(settings.get("text", "")), encoding=str(settings.get("encoding", "")))
    load_libraries()
    with watching(quiet=quiet) as watch:
        made = write_tokenizer(wanted, documents, watch=watch)
    console = standard_output()
    console.print(_table(made))
    if made.added:
        some = ", ".join(made.added[:WORDS_SHOWN]) + ", ..." * (len(made.added) > WORDS_SHOWN)
        say(f"{so_many(len(made.added), 'word')} added: {some}")
    say(f"{so_many(made.documents[0], 'document')} -> {output}")


def _require_known(settings: dict[str, Any]) -> None:
    """Raises UserError for a setting that is not one of how the corpus is read."""
    for name in settings:
        if name not in SETTINGS:
            remedy = f"{nearest(name, [*SETTINGS])}It has {' and '.join(SETTINGS)}"
            raise UserError(f"there is no setting '{name}'", remedy)


def _table(made: Vocabulary) -> FittedTable:
    headings = [Column(name=name, right=name != COLUMNS[0], stays=True) for name in COLUMNS]
    return FittedTable(title=made.title, columns=headings, rows=made.lines())
