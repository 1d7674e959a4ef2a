"""The documents are true: their links, figures, examples, findings and rooms."""

import re
import subprocess
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

from finetune.commands import COMMANDS
from finetune.data.reading import read_table
from finetune.task_types.guess import guess
from finetune.task_types.own_data import usable_rows
from finetune.task_types.types import own_types
from finetune.version import __version__

EXAMPLE = r"`([\w.]+)`, (?:shape|과제 유형) `([\w-]+)`.*?```\w+\n(.*?)```"  # of a file in the pages on data
ENGLISH_ONLY: dict[str, str] = {}  # tutorials, how-tos and explanations that stay English: the reason of each
LONGEST_FOR_PROGRAMS = 250  # lines
EVERY = [*DOCUMENTS, OWN_TASK, OWN_TASK_KO, CHANGELOG]


def test_make_knows_the_targets_that_the_documents_name() -> None:
    texts = [page.read_text(encoding="utf-8") for page in DOCUMENTS]
    named = {target for text in texts for target in re.findall(r"(?:^|`)make ([a-z-]+)(?=$|`| +#)", text, re.MULTILINE)}
    assert {"install", "demo", "test"} <= named
    for target in named:
        assert subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True).returncode == 0, target


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


def in_nav() -> list[str]:
    """Every page of the navigation, in its order; an English notebook and a Korean one are pages too."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return re.findall(r": ([\w/-]+\.md)$", text[text.index("\nnav:") :], re.MULTILINE)


def test_both_languages_have_the_same_pages_in_the_same_order_of_the_navigation() -> None:
    """Each tutorial, how-to and explanation is Korean too, under the same name, which the language switch takes."""
    pages = in_nav()
    assert len(pages) == len({*pages})
    kinds = ("tutorials/", "how-to/", "explanation/")
    english = [page for page in pages if page.startswith(kinds) and page not in ENGLISH_ONLY]
    korean = [page.removeprefix("ko/") for page in pages if page.startswith("ko/")]
    assert english == [page for page in korean if page.startswith(kinds)] and len(english) > 30
    assert sorted({*korean} - {*pages}) == [], "without an English page"
    written = {page.relative_to(KOREAN).as_posix() for page in KOREAN.rglob("*.md")}
    assert sorted(written - {*korean}) == [], "not in the navigation"


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


def test_the_figures_of_the_documents_are_those_of_the_records() -> None:
    found = ""
    for page in (README, README_KO, CONTRIBUTING, *SITE):
        text = page.read_text(encoding="utf-8")
        assert filled(text) == text, page
        found += text
    assert "STS-B" in found
    assert not re.search(r"^<!-- \S+ -->\S", found, re.MULTILINE), "a page shows such a line as HTML"


def test_the_page_for_programs_stays_short_and_has_every_command() -> None:
    lines = (DOCS / "agents.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LONGEST_FOR_PROGRAMS
    assert [name for name in COMMANDS if not [line for line in lines if line.startswith(f"| `{name} ")]] == []


def test_changelog_and_citation_are_of_this_version() -> None:
    lines = CHANGELOG.read_text(encoding="utf-8").splitlines()
    assert next(line for line in lines if line.startswith("## ")) == f"## {__version__}" and len(lines) <= 60
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_file_that_a_document_names_exists() -> None:
    path = re.compile(r"`((?:finetune|tasks|recipes|tests|benchmarks|docs)/[\w./-]*)`")
    named = [(document, name) for document in EVERY for name in path.findall(document.read_text(encoding="utf-8"))]
    assert [(document.name, name) for document, name in named if not (ROOT / name).exists()] == []
