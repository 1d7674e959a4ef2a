"""The site of `make docs`: it builds strictly, needs no network, and switches between its languages."""

import base64
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import isclass, ismodule
from pathlib import Path
from urllib.parse import quote

import pytest
from support.browser import driven, dumped, emulate
from support.pages import KOREAN, SITE
from support.paths import ROOT

import finetune

LOADED = r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=[\"']?([^\"'\s>]+)"
DRAWN_COLUMNS = 100  # that fit a window of 1280 pixels


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
def test_each_language_has_an_index_of_its_pages(site: Path) -> None:
    places = {}
    for folder in ("", "ko/"):
        index = json.loads((site / folder / "search" / "search_index.json").read_text(encoding="utf-8"))
        assert index["config"]["lang"] == ["en", "ko"]
        script = (site / folder / "search" / "search_index.js").read_text(encoding="utf-8")
        assert script.removeprefix("var __index = ") == json.dumps(index, ensure_ascii=False, separators=(",", ":"))
        places[folder] = {doc["location"].partition("#")[0] for doc in index["docs"]}
        assert [place for place in places[folder] if not (site / folder / place).is_file()] == []
    assert "tutorials/your-data.html" in places[""] & places["ko/"]
    assert not any(place.startswith("ko/") for place in places[""])
    english_alone = {place for place in places["ko/"] if place.startswith("../")}
    assert "../reference/settings.html" in english_alone and "../tutorials/your-data.html" not in english_alone


FOUND = [  # where the reader is, what is typed, the first page that is found
    ("index.html", "excel", "how-to/troubleshooting.html"),
    ("tutorials/first-run.html", "imbalanced", "how-to/troubleshooting.html"),
    ("index.html", "out of memory", "how-to/troubleshooting.html"),
    ("ko/index.html", "워드피스", "ko/explanation/how-bert-reads.html"),
    ("ko/tutorials/first-run.html", "excel", "ko/how-to/troubleshooting.html"),
    ("ko/index.html", "out of memory", "ko/how-to/troubleshooting.html"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "asked", "first"), FOUND)
def test_search_finds_the_page_in_the_language_of_the_reader(
    page: str, asked: str, first: str, site: Path, tmp_path: Path
) -> None:
    shown = dumped(f"{(site / page).as_uri()}?q={quote(asked)}", tmp_path, wait=15_000)
    found = re.findall(r'<a href="([^"?]*)[^"]*" class="md-search-result__link"', shown)
    assert found and found[0] == (site / first).as_uri()


@pytest.mark.slow
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


OVERFLOWS = """
return [...document.querySelectorAll("pre > code")].filter(c => c.scrollWidth > c.clientWidth + 1).length
"""
COLUMNS = """
const code = document.querySelector("pre > code"), line = document.createElement("span");
const style = getComputedStyle(code);
line.textContent = "x".repeat(80);
code.append(line);
const wide = line.getBoundingClientRect().width / 80;
return (code.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)) / wide;
"""


@pytest.mark.slow
@pytest.mark.timeout(300)  # 100 pages in a browser, next to other tests
def test_code_fits_a_window_of_1280_pixels(site: Path, tmp_path: Path) -> None:
    with driven(tmp_path) as browser:
        emulate(browser, width=1_280)
        for page in SITE:
            address = (site / page.relative_to(ROOT / "docs")).with_suffix(".html")
            browser.get(address.as_uri())
            assert browser.execute_script(OVERFLOWS) == 0, page
        browser.get((site / "tutorials" / "first-run.html").as_uri())
        assert browser.execute_script(COLUMNS) >= DRAWN_COLUMNS


def test_what_is_drawn_with_letters_needs_no_second_line() -> None:
    """Tables and drawings of the terminal fall apart where a line is continued on the next one."""
    for page in SITE:
        text = page.read_text(encoding="utf-8")
        code = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        drawn = [block for kind, block in code if kind in ("", "text") and re.search("[│┃]|-{3}|\\+-", block)]
        assert [line for block in drawn for line in block.splitlines() if len(line) > DRAWN_COLUMNS] == [], page


@pytest.mark.slow
@pytest.mark.parametrize("page", ["how-to/cheat-sheet.html", "ko/how-to/cheat-sheet.html"])
def test_the_cheat_sheet_is_printed_on_two_sheets(page: str, site: Path, tmp_path: Path) -> None:
    with driven(tmp_path) as browser:
        browser.get((site / page).as_uri())
        printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))) <= 2


def test_a_notebook_is_a_page_in_its_language() -> None:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "theme" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    pages = [hooks.page_of(f"tutorials/notebook{suffix}.ipynb") for suffix in ("", ".ko")]
    assert pages == ["tutorials/notebook.md", "ko/tutorials/notebook.md"]
    cells = [("markdown", ["# A\n", "text"]), ("code", ["import finetune\n", "run = 1"]), ("code", [])]
    made = {"cells": [{"cell_type": kind, "source": source} for kind, source in cells]}
    shown = '<div class="output">\n<b>1</b>\n</div>'
    assert hooks.as_markdown(made, {"import finetune\nrun = 1": "<b>1</b>"}) == (
        f"# A\ntext\n\n```python\nimport finetune\nrun = 1\n```\n\n{shown}"
    )
    assert hooks.relinked("[a](../b.md#c), [d](https://e), [f](#g)", "tutorials", "ko/tutorials") == (
        "[a](../../b.md#c), [d](https://e), [f](#g)"
    )


@pytest.mark.slow
def test_korean_pages_have_korean_tabs_and_lead_to_no_english_neighbour(site: Path) -> None:
    text = built(site, KOREAN / "index.md")
    tabs = re.findall(r'class="md-tabs__link".*?>(.*?)</a>', text)
    assert tabs == ["소개", "튜토리얼", "사용법", "참고 자료", "설명", "English"]
    sidebar = text[text.index("md-nav--primary") : text.index("md-sidebar--secondary")]
    doors = re.findall(r'<span class="md-ellipsis">\s*(.*?)\s*</span>', sidebar, re.DOTALL)
    assert {"튜토리얼", "사용법", "설명"} <= {*doors}
    assert not {"Home", "Tutorials", "How-to", "Reference", "Explanation"} & {*doors}
    assert "md-footer__link--next" in text and "md-footer__link--prev" not in text
    last = built(site, ROOT / "docs" / "decisions.md")
    assert "md-footer__link--prev" in last and "md-footer__link--next" not in last
    english = re.findall(r'class="md-tabs__link".*?>(.*?)</a>', built(site, ROOT / "docs" / "index.md"))
    assert english == ["Home", "Tutorials", "How-to", "Reference", "Explanation", "한국어"]


@pytest.mark.slow
def test_search_works_in_a_page_that_is_opened_as_a_file(site: Path, tmp_path: Path) -> None:
    page = (site / "ko" / "index.html").as_uri()
    assert "md-search-result__link" in dumped(f"{page}?q=%ED%98%95%EC%8B%9D", tmp_path, wait=15_000)
    assert "md-search-result__link" not in dumped(page, tmp_path, wait=15_000)
