"""SWAG (Zellers et al. 2018): which of four sentences follows, from the official csv files or the Hub."""

from finetune.data import CSV, Source, hub_rows, read_strictly
from finetune.errors import UserError
from finetune.task_types import ChoiceRow, ChoiceTask, Rows

REPOSITORY = "allenai/swag"
SPLITS = {"train": ("train.csv", "train"), "dev": ("val.csv", "validation"), "test": ("test.csv", "test")}
ENDINGS = ("ending0", "ending1", "ending2", "ending3")


def read(source: Source, split: str) -> Rows:
    """The rows of a split: the first sentence is the context, the second one's beginning with an ending is a choice."""
    if split not in SPLITS:
        raise UserError(f"SWAG has no split '{split}'", f"It has {', '.join(SPLITS)}")
    file, hub_split = SPLITS[split]
    folder = source.find(("swag", "SWAG", "swagaf/data"), holds=file)
    if folder is None:
        hub = hub_rows(REPOSITORY, "regular", hub_split, looked_for=f"swag/{file}")
        rows = [_row(fields, f"{split}-{index}", where=REPOSITORY) for index, fields in enumerate(hub)]
        return Rows(rows=rows, origin=f"{REPOSITORY} (regular, {hub_split})")
    path = folder / file
    lines = read_strictly(path, CSV, columns=["sent1", "sent2", *ENDINGS, *(["label"] if split != "test" else [])])
    rows = [_row(fields, f"{split}-{index}", where=f"{path}:{line}") for index, (line, fields) in enumerate(lines)]
    return Rows(rows=rows, origin=str(path))


def _row(fields: dict[str, str], name: str, *, where: str) -> ChoiceRow:
    if empty := [ending for ending in ENDINGS if not (fields[ending] or "").strip()]:
        raise UserError(f"{where}: has no {', '.join(empty)}", "Fix that row")
    choices = tuple(f"{fields['sent2'] or ''} {fields[ending]}".strip() for ending in ENDINGS)
    label = str(fields.get("label", -1))  # the Hub's mark for a hidden label
    if label not in ("-1", "0", "1", "2", "3"):
        raise UserError(f"{where}: the label is '{label}'", "It must be a number from 0 to 3")
    return ChoiceRow(id=name, context=fields["sent1"], choices=choices, gold=None if label == "-1" else int(label))


TASKS = [ChoiceTask(name="swag", read=read)]
