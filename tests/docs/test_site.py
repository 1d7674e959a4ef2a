"""The site of `make docs`: it builds strictly, needs no network, and switches between its languages."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pages import KOREAN, SITE
from support.paths import ROOT

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
