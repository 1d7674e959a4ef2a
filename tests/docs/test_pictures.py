"""The pictures of the documents: none is missing, unused, large or stale in what can be checked without drawing it."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from pictures import PAGES, PICTURES, TERMINALS, prepare, terminal
from support.pages import README, README_KO, SITE
from support.paths import ROOT
from terminal import lines_of, printed, screen, terminal_picture

SHOWN = re.compile(r"!\[(.*?)\]\((.*?)\)")
MOST_BYTES, MOST_IN_ALL = 150_000, 1_000_000
WITH_PICTURES = (README, README_KO, *SITE)
DRAWN = {f"{name}{end}" for name in ("encoder", "run-life") for end in (".svg", ".ko.svg")}  # by hand, like badges


def shown_in(page: Path) -> list[tuple[str, Path]]:
    """(what it tells instead, file) of the pictures of a page."""
    found = SHOWN.findall(page.read_text(encoding="utf-8"))
    return [(text, (page.parent / target).resolve()) for text, target in found]


def test_every_picture_is_there_is_shown_and_is_small() -> None:
    shown = {file for page in WITH_PICTURES for _, file in shown_in(page)}
    assert sorted(file for file in shown if not file.is_file()) == []
    made = {file.resolve() for file in PICTURES.iterdir()}
    assert sorted(made - shown) == []
    named = {f"{name}.svg" for name in TERMINALS} | {f"{name}.png" for name in PAGES}
    assert {file.name for file in made} == named | DRAWN | {"badge-licence.svg", "badge-python.svg"}
    sizes = {file.name: file.stat().st_size for file in made}
    assert max(sizes.values()) < MOST_BYTES, sizes
    assert sum(sizes.values()) < MOST_IN_ALL


def test_the_picture_of_check_is_what_check_prints_now(tmp_path: Path) -> None:
    prepare(tmp_path)
    now = terminal("check", TERMINALS["check"], tmp_path)
    shown, ends = (lines_of(text) for text in ((PICTURES / "check.svg").read_text(encoding="utf-8"), now))
    (cost,) = (at for at, line in enumerate(shown) if line.startswith("a run: about "))
    assert ends[cost].startswith("a run: about ")  # seconds and memory are the machine's
    assert shown[:cost] + shown[cost + 1 :] == ends[:cost] + ends[cost + 1 :]


@pytest.mark.slow
def test_the_picture_of_the_run_ends_as_the_run_of_its_record_does(tmp_path: Path) -> None:
    """The record of the README's figures; `finetune run` shows a run that is finished from its scores on."""
    shutil.copytree(ROOT / "results" / "paraphrase", tmp_path / "results" / "paraphrase")
    (command,) = TERMINALS["run"]
    typed = [*shlex.split(command), "train.precision=bf16"]  # as on the processor of that record
    now = terminal_picture(command, screen(printed([sys.executable, "-m", *typed], tmp_path)))
    shown, ends = (lines_of(text) for text in ((PICTURES / "run.svg").read_text(encoding="utf-8"), now))
    assert shown[0] == ends[0] == f"$ {command}"
    first = next(at for at, line in enumerate(ends) if line.startswith("paraphrase, run"))
    assert len(ends) - first > 8
    assert shown[-len(ends[first:]) :] == ends[first:]
    epochs = [line for line in shown if re.match(r"epoch \d+/6  loss ", line)]
    assert len(epochs) == 6
