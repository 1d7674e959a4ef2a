"""What a table declares: a file of recipes/tables, with its rows, and for a table of a recipe its systems."""

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from finetune.data.paths import is_file
from finetune.errors import UserError, nearest
from finetune.runs.recipe import Settings
from finetune.runs.settings import read_toml

TABLES = Path(__file__).parents[2] / "recipes" / "tables"


class TableRow(Settings):
    """A row of the table: a task, a metric and settings; it gives one line per model."""

    name: str
    task: str
    metric: str
    split: str = "dev"  # split of our runs, on which settings are selected
    server: str = "server"  # split of published scores on hidden labels
    limit: int | None = None  # rows of each split that a run used; default: all
    settings: dict[str, Any] = Field({})  # dotted keys that a run must have
    column: str = ""  # heading in the paper's form, where rows of one heading share a column
    over: list[str] = Field([])  # dotted keys that are averaged over like seeds, such as options.fold
    published_as: str = ""  # the task of the published scores, where it has another name
    published: dict[str, float] = Field({})  # published scores of models, where they are of no task here

    @property
    def key(self) -> tuple[str, str]:
        """What it is about: its name and metric."""
        return self.name, self.metric


class System(Settings):
    """A row of the paper in a table of a recipe; the others are compared with the first."""

    name: str
    settings: dict[str, Any] = Field({})  # dotted keys of its runs, with a value or a list of them
    paper: str = ""  # its name among the published scores
    columns: dict[str, str] = Field({})  # cells shown in place of the name, by heading


class PaperTable(Settings):
    """A file of recipes/tables. `margin`, in points, is the difference from a published score that counts as equal.
    `source` is a prefix of the sources to show; without it, all sources of loadable models are shown.

    One with a `recipe` shows its runs, for each row a line a `system`, compared with the first and with the `control`.
    """

    title: str
    source: str = ""
    margin: float = Field(1.0, gt=0)
    recipe: str = ""
    heading: str = "system"  # heading of the systems' names
    system: list[System] = Field([])
    control: str = ""  # a system that the others are compared with too
    row: list[TableRow]

    @property
    def has_columns(self) -> bool:
        """Whether it has a form with tasks as columns."""
        return any(row.column for row in self.row)


def table_files() -> dict[str, Path]:
    """The built-in tables by name."""
    return {file.stem: file for file in sorted(TABLES.glob("*.toml"))}


def load_table(name: str) -> PaperTable:
    """A table by its name, or from a file. Raises UserError for an unknown or invalid one."""
    tables = table_files()
    file = Path(name) if is_file(name) else tables.get(name)
    if file is None:
        raise UserError(
            f"no table or file is called '{name}'", f"{nearest(name, [*tables])}There are {', '.join(tables)}"
        )
    try:
        return PaperTable.model_validate(read_toml(file))
    except ValidationError as error:
        faults = [
            (".".join(map(str, fault["loc"])), fault["msg"].lower().removeprefix("value error, "))
            for fault in error.errors(include_url=False)
        ]
        what = "; ".join(": ".join(filter(None, fault)) for fault in faults)
        raise UserError(f"{file}: {what}", "Compare with the files of recipes/tables") from None
