"""The documents are true: their links, figures, examples, findings and rooms."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pages import (
    COMMANDS,
    COMPARING,
    CONTRIBUTING,
    DOCUMENTS,
    OWN_DATA,
    OWN_DATA_KO,
    OWN_TASK,
    README,
    README_KO,
    RELIABILITY,
    RESULTS,
    blocks,
    commands,
)
from support.paths import ROOT

from finetune.data.reading import read_table
from finetune.runs.grid import expand
from finetune.runs.recipe import parse
from finetune.task_types.guess import guess
from finetune.task_types.own_data import usable_rows
from finetune.task_types.types import data_types

EXAMPLE = r"`([\w.]+)`, (?:shape|종류) `([\w-]+)`.*?```\w+\n(.*?)```"  # of a file in docs/your-data.md


def test_make_knows_the_targets_that_the_documents_name() -> None:
    texts = [page.read_text(encoding="utf-8") for page in DOCUMENTS]
    named = {target for text in texts for target in re.findall(r"(?:^|`)make ([a-z-]+)(?=$|`| +#)", text, re.MULTILINE)}
    assert {"install", "demo", "test"} <= named
    for target in named:
        assert subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True).returncode == 0, target


def test_the_grid_of_contributing_is_that_of_the_paper() -> None:
    (block,) = blocks("toml", CONTRIBUTING)
    points = expand(parse({"task": "mrpc", **tomllib.loads(block)}, origin="CONTRIBUTING.md"), origin="CONTRIBUTING.md")
    assert len(points) == 18


@pytest.mark.parametrize("page", [OWN_DATA, OWN_DATA_KO], ids=lambda page: page.name)
def test_every_example_of_a_file_is_read_as_the_page_says(page: Path, tmp_path: Path) -> None:
    """The shape that stands before it, and every row of it can be used."""
    shown = re.findall(EXAMPLE, page.read_text(encoding="utf-8"), re.DOTALL)
    for name, shape, content in shown:
        (tmp_path / name).write_text(content, encoding="utf-8")
        table = read_table(tmp_path / name)
        layout = guess(table, {})
        assert layout.shape == shape, name
        rows, _, notes = usable_rows(layout, table)
        assert (len(rows), notes) == (len(table), []), name
        assert layout.label, name
    assert {shape for _, shape, _ in shown} == set(data_types())
    assert len(shown) == len(re.findall(r"^\*\*.*?\*\*: `", page.read_text(encoding="utf-8"), re.MULTILINE))


def forms(document: Path) -> set[tuple[str, ...]]:
    """Its finetune commands without the names of files and runs: `run class_weight=`, `predict - <`."""
    found = set()
    for command in commands(document):
        program, name, *words = shlex.split(command)
        signs = (re.match(r"[\w.]+=|-.*|[<>]", word) for word in words)
        if program == "finetune":
            found.add((name, *sorted(sign[0] for sign in signs if sign)))
    return found


def test_the_korean_readme_has_the_commands_and_code_of_the_readme() -> None:
    assert set(commands(README_KO)) == set(commands(README))
    code = [
        [[line.split("  #")[0] for line in block.splitlines()] for block in blocks("python", page)]
        for page in (README, README_KO)
    ]
    assert code[0] == code[1]
    figures = [re.findall(r"<!-- (\w+) -->", page.read_text(encoding="utf-8")) for page in (README, README_KO)]
    assert figures[0] == figures[1]


def test_the_korean_page_on_data_has_every_kind_of_command() -> None:
    assert forms(OWN_DATA_KO) - {("run", "model=")} == forms(OWN_DATA) - {("run", "model=")}
    assert ("run", "model=") in forms(OWN_DATA_KO) & forms(OWN_DATA)
    assert {name for name, *_ in forms(OWN_DATA)} == {"check", "init", "run", "predict", "show", "ls"}


def links(document: Path) -> Iterator[tuple[Path, str]]:
    """(file, anchor) of every link that stays in the repository."""
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]*)\)", document.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        yield (document.parent / name if name else document), anchor


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    without_code = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, OWN_TASK], ids=lambda document: document.name)
def test_every_link_within_the_repository_leads_somewhere(document: Path) -> None:
    linked = list(links(document))
    assert [file for file, _ in linked if not file.exists()] == []
    assert [(file.name, anchor) for file, anchor in linked if anchor and anchor not in anchors(file)] == []
    assert linked or document == CONTRIBUTING


def test_the_pages_are_linked_from_the_readme() -> None:
    linked = {file.resolve() for file, _ in links(README)}
    assert {CONTRIBUTING, README_KO, *(ROOT / "docs").glob("*.md")} - {OWN_DATA_KO} <= linked
    assert OWN_DATA_KO in {file.resolve() for file, _ in links(README_KO)} & {
        file.resolve() for file, _ in links(OWN_DATA)
    }


def test_the_figures_of_the_documents_are_those_of_the_records() -> None:
    pages = [README, README_KO, OWN_DATA, OWN_DATA_KO, COMMANDS, COMPARING, RESULTS, RELIABILITY]
    filled = (
        "import sys, measured; [print(measured.filled(open(name, encoding='utf-8').read())) for name in sys.argv[1:]]"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", filled, *map(str, pages)],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"{page.read_text(encoding='utf-8')}\n" for page in pages)
    assert "STS-B" in done.stdout
    assert not re.search(r"^<!-- \S+ -->\S", done.stdout, re.MULTILINE), "a page shows such a line as HTML"


@pytest.mark.parametrize("page", [README, README_KO], ids=lambda page: page.name)
def test_the_readme_fits_two_screens_and_names_every_package(page: Path) -> None:
    """A line for each package, and no file or folder that does not exist."""
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 110
    (tree,) = re.findall(r"```\nfinetune/\n(.*?)```", text, re.DOTALL)
    rooms = [line.split(maxsplit=1) for line in tree.splitlines() if line.startswith("  ")]
    packages = {file.parent.name for file in (ROOT / "finetune").glob("*/__init__.py")} - {"tasks"}
    assert {name for name, _ in rooms} == {f"{package}/" for package in packages} | {"errors.py"}
    for name, line in rooms:
        for inside in re.findall(r"[\w/]+(?:/|\.py)(?![\w.])", line):
            assert (ROOT / "finetune" / name / inside).exists(), (name, inside)
    outside = [line for line in tree.splitlines() if not line.startswith("  ")]
    assert all((ROOT / name).is_dir() for line in outside for name in re.findall(r"\w+/", line))


@pytest.mark.parametrize("document", [*DOCUMENTS, OWN_TASK], ids=lambda document: document.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`((?:finetune|tasks|recipes|tests|benchmarks|docs)/[\w./-]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
