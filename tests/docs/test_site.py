"""The site of `make docs`: it builds strictly, needs no network, and switches between its languages."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import isclass, ismodule
from pathlib import Path
from urllib.parse import quote

import pytest
from support.browser import dumped
from support.pages import KOREAN, SITE
from support.paths import ROOT

import finetune

pytestmark = pytest.mark.slow
LOADED = r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=[\"']?([^\"'\s>]+)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Built as `make docs` builds it; `strict` makes an error of a broken link and of a page that `nav` lacks."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    yield folder


def built(site: Path, page: Path) -> str:
    """The HTML of a page."""
    return (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text(encoding="utf-8")


def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    for page in SITE:
        loaded = re.findall(LOADED, built(site, page))
        assert loaded
        assert [name for name in loaded if re.match(r"(?:https?:)?//", name)] == [], page
    css = [file.read_text(encoding="utf-8") for file in site.rglob("*.css")]
    assert not re.search(r"url\([\"']?https?:", "".join(css))


def test_pages_are_in_their_language_and_link_to_the_other(site: Path) -> None:
    for page in SITE:
        text, korean = built(site, page), KOREAN in page.parents
        assert re.search(r'<html lang="(\w+)"', text)[1] == ("ko" if korean else "en"), page  # type: ignore[index]
        (other,) = re.findall(r'md-header__link" hreflang="(?:en|ko)" lang="(?:en|ko)"\s+href="(.*?)"', text)
        target = (site / page.relative_to(ROOT / "docs")).parent / other
        assert target.is_file(), (page, other)
        if korean:
            assert target.resolve() == (site / page.relative_to(KOREAN)).with_suffix(".html").resolve()


FOUND = [  # where the reader is, what is typed, the first page that is found
    ("index.html", "excel", "how-to/troubleshooting.html"),
    ("tutorials/first-run.html", "imbalanced", "how-to/troubleshooting.html"),
    ("ko/index.html", "워드피스", "ko/explanation/how-bert-reads.html"),
    ("ko/index.html", "out of memory", "ko/how-to/troubleshooting.html"),
]


@pytest.mark.parametrize(("page", "asked", "first"), FOUND)
def test_search_finds_the_page_in_the_language_of_the_reader(
    page: str, asked: str, first: str, site: Path, tmp_path: Path
) -> None:
    shown = dumped(f"{(site / page).as_uri()}?q={quote(asked)}", tmp_path, wait=15_000)
    found = re.findall(r'<a href="([^"?]*)[^"]*" class="md-search-result__link"', shown)
    assert found and found[0] == (site / first).as_uri()


def test_python_is_documented_name_by_name_and_a_page_a_class(site: Path) -> None:
    text = built(site, ROOT / "docs" / "reference" / "python.md")
    names = [name for name in finetune.__all__ if not ismodule(getattr(finetune, name))]
    classes = [name for name in names if isclass(getattr(finetune, name))]
    assert [name for name in names if f'id="finetune.{name}"' not in text] == classes
    assert len(classes) > 10
    for name in classes:
        assert f'href="python/{name}.html"' in text
        page = (site / "reference" / "python" / f"{name}.html").read_text(encoding="utf-8")
        members = [member for member in vars(getattr(finetune, name)) if not member.startswith("_")]
        assert page.count(f'id="finetune.{name}.') >= min(1, len(members)), name
    assert 'id="finetune.__' not in text
