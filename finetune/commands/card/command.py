"""`finetune card`: writes the card of a run's model."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Examples, Exports, Out
from finetune.cli.terminal import say
from finetune.commands.card.api import card


def card_command(
    run: Annotated[str, typer.Argument(help="A run (folder, id, or task: its latest run).")],
    export: Exports = None,
    with_examples: Examples = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a card that was changed by hand.")] = False,
    out: Out = RESULTS,
) -> None:
    """Writes README.md into the model's folder."""
    file: Path = card(run, exports=export or (), with_examples=with_examples, out=out, force=force)
    say(f"{file}: what the model answers, how well, and its limits")
