"""`finetune push`: shows what goes out, asks, and puts a run's model on the Hugging Face Hub."""

import sys
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Out
from finetune.cli.terminal import echo, say
from finetune.cli.which_run import say_which
from finetune.commands.push.api import prepare_upload
from finetune.data.messages import size_words, so_many
from finetune.errors import UserError

HEAD_LINES = 40  # of the card, that are shown


def push_command(
    run: Annotated[str, typer.Argument(help="A run (folder, id, or task: its latest run).")],
    name: Annotated[str, typer.Argument(help="The repository: OWNER/NAME.")],
    private: Annotated[bool, typer.Option("--private", help="Make the repository private.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    out: Out = RESULTS,
) -> None:
    """Prints the files, their sizes and the card's head, and sends them in one commit."""
    upload = prepare_upload(run, name, out=out)
    say_which([run], out)
    card, sizes = upload.card.splitlines(), upload.sizes
    width = max(map(len, sizes))
    total = f"{so_many(len(sizes), 'file')}, {size_words(sum(sizes.values()))}, to {name}:"
    files = [f"  {path:<{width}}  {size_words(size):>12}" for path, size in sizes.items()]
    echo("\n".join([*card[:HEAD_LINES], *["..."] * (len(card) > HEAD_LINES), "", total, *files]), err=True)
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UserError(f"{name}: nothing was pushed, since nobody can be asked here", "Add `yes`")
        if not typer.confirm(f"Push to the {'private' if private else 'public'} repository {name}?", err=True):
            raise UserError(f"{name}: nothing was pushed", "")
    say(upload.send(private=private, bars=sys.stderr.isatty()))
