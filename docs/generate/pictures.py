"""The pictures of the documents: `python docs/generate/pictures.py --write` makes them; names after it, these alone.

What a terminal shows is what the commands print, typed in build/pictures, where the quickstart is trained; what a page
shows is the page that a command writes there, taken by a headless Chromium. Remove build/pictures to train again. The
diagrams and badges in docs/pictures are drawn by hand: their SVG is the source.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from terminal import printed, screen, terminal_picture

from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
BUILD = ROOT / "build" / "pictures"
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
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "no-first-run", "disable-background-networking")
COLOURS = 128  # of a picture: a third of the bytes; rare colours stay
HEADINGS = "Headings"  # the key of the text in a picture
TAGS = re.compile(r"<style.*?</style>|<script.*?</script>|<[^>]*>", re.DOTALL)


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
    prepare(BUILD)
    for name, commands in TERMINALS.items():
        if not names or name in names:
            (PICTURES / f"{name}.svg").write_text(terminal(name, commands, BUILD), encoding="utf-8")
    keep_record(BUILD / "results")
    for name, page in PAGES.items():
        if not names or name in names:
            printed(shlex.split(typed(page.command, BUILD)), BUILD)
            page_picture(page, BUILD / f"{name}.html", PICTURES / f"{name}.png")


def prepare(folder: Path) -> None:
    """The files that the commands read: reviews with faults, and pairs of sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    (reviews,) = re.findall(r"as `reviews.csv`:\n\n```csv\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "reviews.csv").write_text(reviews + "\n".join(FAULTS) + "\n", encoding="utf-8")
    (folder / "pairs.csv").write_text(PAIRS, encoding="utf-8")


def terminal(name: str, commands: list[str], folder: Path) -> str:
    """The picture of what the last command prints, which stays in the folder and is taken from there the next time."""
    file = folder / f"{name}.ansi"
    if not file.is_file():
        sent = [printed(shlex.split(typed(command, folder)), folder) for command in commands]
        file.write_bytes(sent[-1].encode())
    return terminal_picture(typed(commands[-1], folder), screen(file.read_bytes().decode()))


def typed(command: str, folder: Path) -> str:
    """A command with the ids of runs."""
    for name, run in runs(folder / "results").items():
        command = command.replace(name, run.id)
    return command


def runs(results: Path) -> dict[str, RunRecord]:
    """The runs that commands name."""
    return {"FROZEN" if run.recipe.get("frozen") else "QUICKSTART": run for run in all_records(results)}


def keep_record(results: Path) -> None:
    """Puts the record of the pictured run among those that figures come from, in the place of its last one."""
    run = runs(results)["QUICKSTART"]
    records = ROOT / "results" / run.task
    for folder in records.iterdir():
        if json.loads((folder / "record.json").read_text(encoding="utf-8"))["recipe"]["seed"] == run.recipe["seed"]:
            shutil.rmtree(folder)
    (records / run.id).mkdir()
    shutil.copy(results / run.task / run.id / "record.json", records / run.id)


def page_picture(page: Page, file: Path, picture: Path) -> None:
    """Writes a PNG of the top of a page, with its headings. Raises FileNotFoundError without a Chromium."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise FileNotFoundError("pictures of pages need Chromium")
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "page.png"
        size = f"window-size={page.width},{page.height}"
        options = [*FLAGS, size, f"screenshot={taken}", f"user-data-dir={folder}/profile", "lang=en"]
        command = [browser, *(f"--{option}" for option in options), file.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        about = PngInfo()
        about.add_itxt(HEADINGS, "\n".join(headings(file.read_text(encoding="utf-8"))))
        with Image.open(taken) as image:
            small = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE)
            small.save(picture, optimize=True, pnginfo=about)


def headings(page: str) -> list[str]:
    """The headings of a page of HTML down to the fourth level."""
    texts = re.findall(r"<h[1-4][^>]*>(.*?)</h[1-4]>", page, re.DOTALL)
    return [" ".join(unescape(TAGS.sub(" ", heading)).split()) for heading in texts]


def headings_in(picture: Path) -> list[str]:
    """The headings that the pictured page had."""
    with Image.open(picture) as image:
        image.load()  # which reads the text at the end of the file too
        return str(image.info[HEADINGS]).splitlines()


if __name__ == "__main__" and "--write" in sys.argv:
    write([name for name in sys.argv[1:] if name != "--write"])
