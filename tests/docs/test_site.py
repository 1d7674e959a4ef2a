"""The site of `make docs`: it builds strictly, needs no network, and switches between its languages."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import ismodule
from pathlib import Path

import pytest
from support.browser import dumped
from support.pages import KOREAN, SITE
from support.paths import ROOT

import finetune

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
        timeout=120,
    )
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    yield folder


def built(site: Path, page: Path) -> str:
    """The HTML of a page."""
    return (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    for page in SITE:
        loaded = re.findall(LOADED, built(site, page))
        assert loaded
        assert [name for name in loaded if re.match(r"(?:https?:)?//", name)] == [], page
    css = [file.read_text(encoding="utf-8") for file in site.rglob("*.css")]
    assert not re.search(r"url\([\"']?https?:", "".join(css))


@pytest.mark.slow
def test_pages_are_in_their_language_and_link_to_the_other(site: Path) -> None:
    for page in SITE:
        text, korean = built(site, page), KOREAN in page.parents
        assert re.search(r'<html lang="(\w+)"', text)[1] == ("ko" if korean else "en"), page  # type: ignore[index]
        (other,) = re.findall(r'md-header__link" hreflang="(?:en|ko)" lang="(?:en|ko)"\s+href="(.*?)"', text)
        target = (site / page.relative_to(ROOT / "docs")).parent / other
        assert target.is_file(), (page, other)
        if korean:
            assert target.resolve() == (site / page.relative_to(KOREAN)).with_suffix(".html").resolve()


@pytest.mark.slow
def test_hangul_breaks_between_words(site: Path) -> None:
    (css,) = site.glob("stylesheets/site.css")
    assert re.search(r":lang\(ko\) \{[^}]*word-break: keep-all", css.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_korean_and_english_are_found_by_search(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert index["config"]["lang"] == ["en", "ko"]
    assert {"ko/tutorials/your-data.html", "tutorials/your-data.html"} <= {each["location"] for each in index["docs"]}


@pytest.mark.slow
def test_python_is_documented_name_by_name(site: Path) -> None:
    text = built(site, ROOT / "docs" / "reference" / "python.md")
    names = [name for name in getattr(finetune, "__all__", ["load"]) if not ismodule(getattr(finetune, name))]
    assert [name for name in names if f'id="finetune.{name}"' not in text] == []
    assert 'id="finetune.__' not in text


def test_a_notebook_is_a_page_in_its_language() -> None:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "theme" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)
    pages = [notebooks.page_of(f"tutorials/notebook{suffix}.ipynb") for suffix in ("", ".ko")]
    assert pages == ["tutorials/notebook.md", "ko/tutorials/notebook.md"]
    cells = [("markdown", ["# A\n", "text"]), ("code", ["import finetune\n", "run = 1"]), ("code", [])]
    made = {"cells": [{"cell_type": kind, "source": source} for kind, source in cells]}
    assert notebooks.as_markdown(made) == "# A\ntext\n\n```python\nimport finetune\nrun = 1\n```"
    assert notebooks.relinked("[a](../b.md#c), [d](https://e), [f](#g)", "tutorials", "ko/tutorials") == (
        "[a](../../b.md#c), [d](https://e), [f](#g)"
    )


@pytest.mark.slow
def test_korean_pages_have_korean_tabs_and_lead_to_no_english_neighbour(site: Path) -> None:
    text = built(site, KOREAN / "index.md")
    tabs = re.findall(r'class="md-tabs__link".*?>(.*?)</a>', text)
    assert tabs == ["소개", "튜토리얼", "사용법", "참고 자료", "설명", "English"]
    assert "md-footer__link--next" in text and "md-footer__link--prev" not in text
    last = built(site, ROOT / "docs" / "decisions" / "index.md")
    assert "md-footer__link--prev" in last and "md-footer__link--next" not in last
    english = re.findall(r'class="md-tabs__link".*?>(.*?)</a>', built(site, ROOT / "docs" / "index.md"))
    assert english == ["Home", "Tutorials", "How-to", "Reference", "Explanation", "한국어"]


@pytest.mark.slow
def test_search_works_in_a_page_that_is_opened_as_a_file(site: Path, tmp_path: Path) -> None:
    page = (site / "ko" / "index.html").as_uri()
    assert "md-search-result__link" in dumped(f"{page}?q=%ED%98%95%EC%8B%9D", tmp_path, wait=15_000)
    assert "md-search-result__link" not in dumped(page, tmp_path, wait=15_000)
