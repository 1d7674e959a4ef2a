"""The documents are true: their links, figures, examples, findings and rooms."""

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import filled
from support.pages import (
    CHANGELOG,
    CONTRIBUTING,
    DOCS,
    DOCUMENTS,
    KOREAN,
    OWN_DATA,
    OWN_DATA_KO,
    OWN_TASK,
    OWN_TASK_KO,
    README,
    README_KO,
    SAME_COMMANDS,
    SITE,
    blocks,
    commands,
    page_name,
    saved_files,
)
from support.paths import ROOT

from finetune.data.reading import read_table
from finetune.runs.resolve import expand, parse
from finetune.task_types.guess import guess
from finetune.task_types.own_data import usable_rows
from finetune.task_types.types import own_types

EXAMPLE = r"`([\w.]+)`, (?:shape|과제 유형) `([\w-]+)`.*?```\w+\n(.*?)```"  # of a file in the pages on data
ENGLISH_ONLY: dict[str, str] = {}  # tutorials, how-tos and explanations that stay English: the reason of each
EVERY = [*DOCUMENTS, OWN_TASK, OWN_TASK_KO, CHANGELOG]


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


@pytest.mark.parametrize("page", [OWN_DATA, OWN_DATA_KO], ids=page_name)
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
    assert {shape for _, shape, _ in shown} == set(own_types()) - {"text"}  # which is never guessed
    assert len(shown) == len(re.findall(r"^\*\*.*?\*\*: `", page.read_text(encoding="utf-8"), re.MULTILINE))


def forms(document: Path) -> set[tuple[str, ...]]:
    """Its finetune commands without the names of files, runs and encoders: `run class_weight=`, `predict - <`."""
    found = set()
    for command in commands(document):
        program, name, *words = shlex.split(command)
        signs = (re.match(r"[\w.]+=|-.*|[<>]", word) for word in words)
        if program == "finetune":
            found.add((name, *sorted(sign[0] for sign in signs if sign and sign[0] != "model=")))
    return found


def code(page: Path) -> list[list[str]]:
    """The lines of its Python blocks, without comments."""
    return [[line.split("  #")[0] for line in block.splitlines()] for block in blocks("python", page)]


@pytest.mark.parametrize("korean", SAME_COMMANDS, ids=page_name)
def test_a_korean_page_has_the_commands_of_the_english_one(korean: Path) -> None:
    """So that the test which runs those of the English page covers both."""
    english = SAME_COMMANDS[korean]
    assert set(commands(korean)) == set(commands(english))
    assert [block for block in code(korean) if block not in code(english)] == []
    assert [saved_files(english).get(name) for name in saved_files(korean)] == [*saved_files(korean).values()]


def test_the_korean_readme_has_the_code_and_figures_of_the_readme() -> None:
    assert code(README_KO) == code(README)
    figures = [re.findall(r"<!-- (\w+) -->", page.read_text(encoding="utf-8")) for page in (README, README_KO)]
    assert figures[0] == figures[1]


def test_the_korean_page_on_data_has_every_kind_of_command() -> None:
    assert forms(OWN_DATA) <= forms(OWN_DATA_KO)
    assert {name for name, *_ in forms(OWN_DATA)} == {"check", "init", "run", "predict", "show", "ls"}


@pytest.mark.parametrize("page", [OWN_DATA, OWN_DATA_KO], ids=page_name)
def test_the_columns_of_the_file_to_save_are_detected_without_a_setting(page: Path, tmp_path: Path) -> None:
    reviews = saved_files(page)["reviews.csv"]
    (tmp_path / "reviews.csv").write_text(reviews, encoding="utf-8")
    table = read_table(tmp_path / "reviews.csv")
    layout = guess(table, {})
    assert ([*layout.text, *layout.label], len(table)) == (reviews.splitlines()[0].split(","), 24)


def in_nav() -> list[str]:
    """Every page of the navigation, in its order; an English notebook and a Korean one are pages too."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return re.findall(r": ([\w/-]+\.md)$", text[text.index("\nnav:") :], re.MULTILINE)


def test_every_tutorial_how_to_and_explanation_has_a_korean_page_in_the_navigation() -> None:
    """Under the same name, which the language switch of the site takes."""
    pages = in_nav()
    assert len(pages) == len({*pages})
    korean = {page.removeprefix("ko/") for page in pages if page.startswith("ko/")}
    english = {page for page in pages if not page.startswith("ko/")}
    to_read = {page for page in english if page.startswith(("tutorials/", "how-to/", "explanation/"))}
    assert len(to_read) > 30
    assert sorted(to_read - korean - ENGLISH_ONLY.keys()) == [], "without a Korean page"
    assert sorted(korean - english) == [], "without an English page"
    assert sorted(ENGLISH_ONLY.keys() & korean) == [], "named as English, and Korean by now"
    written = {page.relative_to(KOREAN).as_posix() for page in KOREAN.rglob("*.md")}
    assert sorted(written - korean) == [], "not in the navigation"


def test_both_languages_have_the_same_pages_in_the_same_groups() -> None:
    """A reader who changes the language finds a page at the same place."""
    pages = in_nav()
    for section in ("tutorials/", "how-to/", "explanation/"):
        english = [page for page in pages if page.startswith(section) and page not in ENGLISH_ONLY]
        assert english == [page.removeprefix("ko/") for page in pages if page.startswith(f"ko/{section}")]


def test_spans_of_the_korean_page_leave_particles_outside() -> None:
    named = []
    for line in re.findall(r'^{"text": .*"label": .*}$', OWN_DATA_KO.read_text(encoding="utf-8"), re.MULTILINE):
        row = json.loads(line)
        named += [row["text"][start:end] for start, end, _ in row["label"]] if isinstance(row["label"], list) else []
    assert named == ["김철수", "서울", "이영희", "한빛전자", "부산"]


@pytest.mark.parametrize("page", [OWN_DATA, OWN_DATA_KO], ids=page_name)
def test_the_words_of_two_spans_are_where_their_offsets_say(page: Path) -> None:
    lines = re.findall(r'^{"text": .*"e2": .*}$', page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 2
    for row in map(json.loads, lines):
        for span in (row["e1"], row["e2"]):
            assert row["text"][span["start"] : span["end"]] == span["word"]


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


def test_every_link_within_the_repository_leads_somewhere() -> None:
    linked = [(document, file, anchor) for document in EVERY for file, anchor in links(document)]
    assert [(document, file) for document, file, _ in linked if not file.exists()] == []
    assert [one for one in linked if one[2] and one[2] not in anchors(one[1])] == []


@pytest.mark.parametrize("page", [README, README_KO], ids=page_name)
def test_the_readme_fits_two_screens(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) < 90


def test_the_figures_of_the_documents_are_those_of_the_records() -> None:
    found = ""
    for page in (README, README_KO, CONTRIBUTING, *SITE):
        text = page.read_text(encoding="utf-8")
        assert filled(text) == text, page
        found += text
    assert "STS-B" in found
    assert not re.search(r"^<!-- \S+ -->\S", found, re.MULTILINE), "a page shows such a line as HTML"


def test_the_page_on_the_design_names_every_package() -> None:
    """A line for each package, but for those of commands, and no file that does not exist."""
    text = (DOCS / "explanation" / "design.md").read_text(encoding="utf-8")
    (tree,) = re.findall(r"```\nfinetune/\n(.*?)```", text, re.DOTALL)
    rooms = list[tuple[str, str]]()
    for depth, name, line in re.findall(r"^(  |    )(\S+) +(.*)", tree, re.MULTILINE):
        above = next((room for room, _ in reversed(rooms) if room.count("/") == 1), "") if depth == "    " else ""
        rooms.append((above + name, line))
    package = ROOT / "finetune"
    found = [
        file
        for folder in ("*", "analysis/*", "inference/*", "training/*")
        for file in package.glob(f"{folder}/__init__.py")
    ]
    packages = {f"{file.parent.relative_to(package).as_posix()}/" for file in found} - {"tasks/"}
    of_commands = {name for name, _ in rooms if name.startswith("commands/")} - {"commands/"}  # the large ones
    assert {name for name, _ in rooms} - of_commands == packages | {"errors.py"}
    assert all((package / name).is_dir() for name in of_commands)
    for name, line in rooms:
        for inside in re.findall(r"[\w/]+(?:/|\.py)(?![\w.])", line):
            assert (ROOT / "finetune" / name / inside).exists(), (name, inside)
    outside = [line for line in tree.splitlines() if not line.startswith("  ")]
    assert all((ROOT / name).is_dir() for line in outside for name in re.findall(r"\w+/", line))


def test_every_file_that_a_document_names_exists() -> None:
    path = re.compile(r"`((?:finetune|tasks|recipes|tests|benchmarks|docs)/[\w./-]*)`")
    named = [(document, name) for document in EVERY for name in path.findall(document.read_text(encoding="utf-8"))]
    assert [(document.name, name) for document, name in named if not (ROOT / name).exists()] == []
