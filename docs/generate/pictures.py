"""The pictures of the documents: `python docs/generate/pictures.py --write` makes them; names after it, these alone.

What a terminal shows is what the commands print, typed in build/pictures, where the quickstart is trained; what a page
shows is the page that a command writes there. Remove build/pictures to train again.
"""

import json
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from badges import badge_pictures
from diagrams import diagrams
from page_pictures import page_picture
from terminal import printed, screen, terminal_picture

from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
PLACE = ROOT / "build" / "pictures"
TUTORIAL = ROOT / "docs" / "tutorials" / "your-data.md"  # with a file of reviews
FAULTS = (
    "Great coffee and quick service.,bad",
    "Perfect pasta and a view of the sea.,good",
    "TrÃ¨s bon cafÃ©.,good",
    "Fine.,",
)
PAIRS = "sentence1,sentence2\nThe castle was destroyed by fire.,The fortress was reduced to ruins by a blaze.\n"
FROZEN = "finetune run quickstart frozen=true train.solver=logistic"  # for a comparison, in seconds
# What is typed, by the name of the picture; the first of several commands only makes what the last one shows.
TERMINALS = {
    "run": ["finetune run quickstart"],
    "check": ["finetune check reviews.csv"],
    "predictions": ["finetune show paraphrase --predictions 3"],
    "compare": [FROZEN, "finetune compare FROZEN QUICKSTART --changed 3"],
}


@dataclass(frozen=True, kw_only=True)
class Page:
    """A command that writes a page, and the pixels of it that are shown."""

    command: str
    width: int = 1_000
    height: int = 900


PAGES = {
    "report": Page(command="finetune report QUICKSTART -o report.html --force"),
    "view": Page(command="finetune view minilm -o view.html --force"),
    "explain": Page(command="finetune explain QUICKSTART --rows pairs.csv -o explain.html --force", height=500),
}


def write(names: list[str]) -> None:
    """Writes the pictures of these names, or all."""
    PICTURES.mkdir(exist_ok=True)
    for name, drawing in (diagrams() | badge_pictures()).items():
        if not names or re.split(r"[.-]", name)[0] in names:
            (PICTURES / name).write_text(drawing, encoding="utf-8")
    prepare(PLACE)
    for name, commands in TERMINALS.items():
        if not names or name in names:
            (PICTURES / f"{name}.svg").write_text(terminal(name, commands, PLACE), encoding="utf-8")
    keep_record(PLACE / "results")
    for name, page in PAGES.items():
        if not names or name in names:
            printed(shlex.split(typed(page.command, PLACE)), PLACE)
            (PICTURES / f"{name}.png").write_bytes(
                page_picture(PLACE / f"{name}.html", width=page.width, height=page.height)
            )


def keep_record(results: Path) -> None:
    """The record of the pictured run among those that figures come from, in the place of its last one."""
    run = runs(results)["QUICKSTART"]
    kept = ROOT / "results" / run.task
    for folder in kept.iterdir():
        if json.loads((folder / "record.json").read_text(encoding="utf-8"))["recipe"]["seed"] == run.recipe["seed"]:
            shutil.rmtree(folder)
    (kept / run.id).mkdir()
    shutil.copy(results / run.task / run.id / "record.json", kept / run.id)


def prepare(folder: Path) -> None:
    """The files that the commands read: reviews with faults, and pairs of sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    (reviews,) = re.findall(r"as `reviews.csv`:\n\n```csv\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "reviews.csv").write_text(reviews + "\n".join(FAULTS) + "\n", encoding="utf-8")
    (folder / "pairs.csv").write_text(PAIRS, encoding="utf-8")


def terminal(name: str, commands: list[str], folder: Path) -> str:
    """The picture of what the last command prints; kept in the folder, where it is taken from the next time."""
    kept = folder / f"{name}.ansi"
    if not kept.is_file():
        sent = [printed(shlex.split(typed(command, folder)), folder) for command in commands]
        kept.write_bytes(sent[-1].encode())
    shown = typed(commands[-1], folder)
    return terminal_picture(shown, screen(kept.read_bytes().decode()))


def typed(command: str, folder: Path) -> str:
    """A command with the ids of runs."""
    for name, run in runs(folder / "results").items():
        command = command.replace(name, run.id)
    return command


def runs(results: Path) -> dict[str, RunRecord]:
    """The runs that commands name."""
    return {"FROZEN" if run.recipe.get("frozen") else "QUICKSTART": run for run in all_records(results)}


if __name__ == "__main__" and "--write" in sys.argv:
    write([name for name in sys.argv[1:] if name != "--write"])
