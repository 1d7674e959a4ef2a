"""Arguments and options shared by commands."""

from pathlib import Path
from typing import Annotated

import typer

RESULTS = Path("results")

Data = Annotated[Path | None, typer.Option(help="Folder with the data files; default: $FINETUNE_DATA, then the Hub.")]
Out = Annotated[Path, typer.Option(help="Folder of runs.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 or mps; default: the best available.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
TaskOf = Annotated[
    str | None, typer.Option("--task", help="The model's task, if it is in a file (FILE.py:NAME) or was not saved.")
]
Escape = Annotated[
    bool, typer.Option("--escape-formulas", help="Add an apostrophe to cells that a spreadsheet would run as formulas.")
]
Coverage = Annotated[
    float | None,
    typer.Option(
        help="Answer this share of rows, the most confident; others are `unsure`. On average over draws of dev rows."
    ),
]
Risk = Annotated[
    float | None,
    typer.Option(help="Answer where at most this share is wrong, which holds in 95 of 100 draws of dev rows."),
]
Replace = Annotated[bool, typer.Option("--force", help="Replace a file that this command did not write.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
SettingsArgument = Annotated[list[str] | None, typer.Argument(help="Settings as key=value.")]


def complete(incomplete: str) -> list[str]:
    """Names of recipes and settings, for shell completion."""
    from finetune.runs.recipe import setting_fields
    from finetune.runs.toml import recipe_files

    return [name for name in (*recipe_files(), *(f"{key}=" for key in setting_fields())) if name.startswith(incomplete)]
