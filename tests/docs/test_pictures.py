"""The pictures of the documents: none is missing, unused, large or stale in what can be checked without drawing it."""

import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from pictures import PAGES, PICTURES, TERMINALS, headings, headings_in, prepare, terminal
from support.pages import KOREAN_PAGES, README, README_KO, SITE, page_name
from support.paths import ROOT
from support.runs import FinishedRun
from terminal import COLUMNS, lines_of, printed, screen, terminal_picture

from finetune.cli import app as cli

SHOWN = re.compile(r"!\[(.*?)\]\((.*?)\)")
MOST_BYTES, MOST_IN_ALL = 150_000, 1_000_000
OF_MANY_ROWS = {"Coverage and _"}  # parts that a report of eight rows lacks
SHORTEST = {False: 30, True: 15}  # characters that tell what a picture shows; in Korean fewer
WITH_PICTURES = (README, README_KO, *SITE)
DRAWN = {f"{name}{end}" for name in ("encoder", "run-life") for end in (".svg", ".ko.svg")}  # by hand, like badges
METRICS = r"accuracy|f1|macro[ _-][fF]1|the majority label|different|same|good|bad"  # in headings


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


@pytest.mark.parametrize("page", [page for page in WITH_PICTURES if shown_in(page)], ids=page_name)
def test_a_picture_has_a_text_that_tells_what_it_shows_in_the_language_of_the_page(page: Path) -> None:
    korean = page in KOREAN_PAGES
    for text, file in shown_in(page):
        if file.parent == PICTURES and not file.name.startswith("badge-"):
            assert len(text) >= SHORTEST[korean], (file.name, text)
            assert bool(re.search("[가-힣]", text)) == korean, (file.name, text)
        assert text, file


def test_pictures_load_nothing_and_run_nothing() -> None:
    for file in PICTURES.glob("*.svg"):
        drawn = file.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?:|@import|@font-face|<script|<image", drawn), file.name
        assert "<title>" in drawn, file.name


def test_badges_show_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    values = {"licence": project["license"], "Python": project["requires-python"].replace(">=", "≥ ")}
    for name, value in values.items():
        drawn = (PICTURES / f"badge-{name.lower()}.svg").read_text(encoding="utf-8")
        assert f"<title>{name}: {value}</title>" in drawn
        for page in (README, README_KO):
            assert f"![{name}: {value}]" in page.read_text(encoding="utf-8")


def test_the_picture_of_check_is_what_check_prints_now(tmp_path: Path) -> None:
    prepare(tmp_path)
    now = terminal("check", TERMINALS["check"], tmp_path)
    assert lines_of((PICTURES / "check.svg").read_text(encoding="utf-8")) == lines_of(now)


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


def test_the_demo_types_what_the_picture_of_the_readme_shows() -> None:
    (demo,) = re.findall(r"\$\(BIN\)/(finetune run .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert demo.startswith(TERMINALS["run"][0])
    for page in (README, README_KO):
        assert PICTURES / "run.svg" in [file for _, file in shown_in(page)]


def test_pictured_commands_are_those_that_are_typed_and_fit() -> None:
    results = ROOT / "results" / "paraphrase"
    for name, commands in TERMINALS.items():
        first, *lines = lines_of((PICTURES / f"{name}.svg").read_text(encoding="utf-8"))
        words = commands[-1].replace("FROZEN", r"\w{10}").replace("QUICKSTART", r"(\w{10})")
        found = re.fullmatch(rf"\$ {words}", first)
        assert found is not None, (name, first)
        assert all((results / run).is_dir() for run in found.groups()), "another run than that of the figures"
        assert max(map(len, lines)) <= COLUMNS


def test_what_erases_and_moves_leaves_the_lines_of_the_terminal() -> None:
    sent = "one\r\n\x1b[?25lhalf\r\x1b[2Kwhole\r\n\x1b[1A\x1b[2Klast \x1b[1mbold\x1b[0m\r\n\r\n"
    assert screen(sent) == ["one", "last \x1b[1mbold\x1b[0m"]
    assert lines_of(terminal_picture("x", ["친구 ab", "  <b>"])) == ["$ x", "친구 ab", "  <b>"]
    assert 'textLength="84"' in terminal_picture("x", ["친구 ab"])


def general(found: list[str]) -> set[str]:
    """Headings without the verdict, the names of runs and labels, and numbers."""
    kept = [heading for heading in found[1:] if heading and "(95 %" not in heading]
    return {re.sub(rf"\b({METRICS})\b|[\d.]+", "_", heading) for heading in kept}


def test_the_pictured_pages_have_the_parts_that_they_have_now(
    finished_run: FinishedRun, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run("sentence")
    (tmp_path / "pairs.csv").write_text("review\nthe cat sat\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, page in PAGES.items():
        pictured = general(headings_in(PICTURES / f"{name}.png"))
        command = page.command.replace("QUICKSTART", str(run)).replace("minilm", str(tiny_bert))
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        now = headings(Path(f"{name}.html").read_text(encoding="utf-8"))
        assert len(pictured) >= 2
        assert sorted(pictured - general(now) - OF_MANY_ROWS) == [], name


@pytest.mark.nightly
def test_the_quickstart_prints_what_its_picture_shows_but_for_scores(tmp_path: Path) -> None:
    prepare(tmp_path)
    masked = [
        [re.sub(r"\d[\d,.]*", "#", line) for line in lines_of(text)]
        for text in ((PICTURES / "run.svg").read_text(encoding="utf-8"), terminal("run", TERMINALS["run"], tmp_path))
    ]
    assert masked[0] == masked[1]
