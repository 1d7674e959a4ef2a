"""`finetune push`: shows what goes out, asks, and puts a run's model on the Hugging Face Hub."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Out
from finetune.cli.terminal import echo, say
from finetune.cli.which_run import say_which
from finetune.commands.push.api import prepared
from finetune.commands.push.hub import require_token, send, without_bars
from finetune.commands.push.outgoing import Outgoing
from finetune.data.checksums import ABOUT
from finetune.data.messages import size_words, so_many
from finetune.errors import UserError

HEAD_LINES = 40  # of the card, that are shown


def push_command(
    run: Annotated[str, typer.Argument(help="A run (folder, id, or task: its latest run).")],
    name: Annotated[str, typer.Argument(help="The repository: OWNER/NAME.")],
    private: Annotated[bool, typer.Option("--private", help="Make the repository private.")] = False,
    export: Annotated[
        list[Path] | None, typer.Option("--export", help="Folder of an export of the run; repeatable.")
    ] = None,
    with_examples: Annotated[
        bool, typer.Option("--with-examples", help="Show a few rows of the data in the card.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    out: Out = RESULTS,
) -> None:
    """Prints the files, their sizes and the card's head, and sends them in one commit."""
    token = require_token()
    found = prepared(run, name, exports=export or (), with_examples=with_examples, out=out)
    say_which([run], out)
    echo(_summary(found), err=True)
    if not yes:
        _ask(found, private=private)
    with nullcontext() if sys.stderr.isatty() else without_bars():
        url = send(found, token=token, private=private)
    say(url)


def _summary(found: Outgoing) -> str:
    """The head of the card, then every file with its size."""
    card = found.texts[ABOUT].splitlines()
    head = [*card[:HEAD_LINES], *(["..."] if len(card) > HEAD_LINES else [])]
    width = max(map(len, found.sizes))
    files = [f"  {path:<{width}}  {size_words(size):>12}" for path, size in found.sizes.items()]
    total = f"{so_many(len(files), 'file')}, {size_words(sum(found.sizes.values()))}, to {found.name}:"
    return "\n".join([*head, "", total, *files])


def _ask(found: Outgoing, *, private: bool) -> None:
    """Raises UserError where nobody can be asked, or the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(f"{found.name}: nothing was pushed, since nobody can be asked here", "Add `yes`")
    kind = "private" if private else "public"
    if not typer.confirm(f"Push to the {kind} repository {found.name}?", err=True):
        raise UserError(f"{found.name}: nothing was pushed", "")
