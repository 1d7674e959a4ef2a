"""What a real browser makes of a report."""

import base64
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import CONTRAST, driven, emulate
from support.pdf import drawn_on_pages
from support.records import change_record
from support.reports import report, saved_run
from support.toys import cat_task

from finetune.commands.report import report as written_report
from finetune.runs.record_files import load_record
from finetune.task_types import SentenceRow
from finetune.task_types.parts import Answer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real headless Chromium."""
    with driven(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def assert_becomes(browser: Any, script: str, expected: Any) -> None:
    """What a script returns once the page has done what it was asked, which takes time on a busy machine."""
    until = time.monotonic() + 10
    while (found := browser.execute_script(script)) != expected and time.monotonic() < until:
        time.sleep(0.05)
    assert found == expected


UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true;"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_a_browser_shows_it_whole_and_readable(browser: Any, page: Path, width: int, scheme: str) -> None:
    emulate(browser, width=width, scheme=scheme)
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    browser.execute_script(UNFOLD)
    asked = "return [innerWidth, document.documentElement.scrollWidth, document.querySelectorAll('svg').length]"
    inner, wide, charts = browser.execute_script(asked)
    assert inner == width
    assert wide <= width
    assert charts > 18
    overlong = "return [...document.querySelectorAll('svg, .card, mark')].filter(e => !e.closest('.scroll') && "
    overlong += "e.getBoundingClientRect().right > innerWidth).length"
    assert browser.execute_script(overlong) == 0
    found = browser.execute_script(CONTRAST)
    assert found["count"] > 1_000
    assert found["ratio"] >= 4.5, found
    assert (sum(found["page"]) < 3 * 60) == (scheme == "dark")


def test_a_browser_asks_for_nothing_else(browser: Any, page: Path) -> None:
    browser.get(page.as_uri())
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_rows_are_filtered_and_found_from_the_confusion(browser: Any, shapes: dict[str, Path], tmp_path: Path) -> None:
    report(tmp_path, shapes["toy-cats"])
    browser.get((tmp_path / "report.html").as_uri())
    shown = "return Number(document.querySelector('[data-rows]').dataset.shown)"
    choose = (
        "const form = document.querySelector('[data-rows] form'); form.elements[arguments[0]].value = arguments[1];"
    )
    choose += "form.elements.kind.dispatchEvent(new Event('input', {bubbles: true}));"
    browser.execute_script(choose, "kind", "all")
    assert_becomes(browser, shown, 64)
    browser.execute_script(choose, "text", "no such text")
    assert_becomes(browser, shown, 0)
    browser.execute_script(choose, "text", "")
    browser.execute_script(choose, "kind", "least")
    assert_becomes(browser, shown, 20)
    assert browser.execute_script("return document.querySelector('[name=sort]').value") == "doubt"
    for link in browser.find_elements("css selector", "a[data-label]"):
        count = int(link.text)
        browser.execute_script("arguments[0].click()", link)
        assert browser.execute_script(shown) == count
        assert browser.execute_script("return document.querySelectorAll('[data-rows] li').length") == min(count, 10)


def class_names(count: int) -> tuple[str, ...]:
    return tuple(f"class number {'abcdefghijklmnopqrstuvwxyz'[at]}" for at in range(count))


def run_of_classes(out: Path, count: int, *, seed: int = 42, **changes: Any) -> Path:
    """A run with so many classes, a third of whose rows are wrong."""
    names, draw = class_names(count), np.random.default_rng(seed)
    rows = [SentenceRow(id=str(i), text=f"the text {i}", gold=names[i % count]) for i in range(12 * count)]
    task = replace(cat_task(rows), labels=names, name=f"classes-{count}")
    answers = []
    for row in rows:
        place = names.index(row.gold) if draw.random() < 0.7 else int(draw.integers(count))
        given = draw.dirichlet(np.ones(count)) * 0.5 + 0.5 * np.eye(count)[place]
        answers.append(Answer(value=names[int(np.argmax(given))], probabilities=given.tolist()))
    folder = saved_run(out, task, rows, answers, seed=seed)
    record = load_record(folder / "record.json")
    change_record(folder / "record.json", recipe=record.recipe | changes)
    return folder


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of six classes."""
    out = tmp_path_factory.mktemp("six")
    run = run_of_classes(out, 6)
    written_report(str(run), path=out / "report.html", force=True, out=out)
    return out / "report.html"


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of four runs in two groups of seeds, of 25 classes."""
    out = tmp_path_factory.mktemp("several")
    runs = [run_of_classes(out, 25, seed=seed, frozen=frozen) for frozen in (False, True) for seed in (1, 2)]
    written_report(*(str(run) for run in runs), path=out / "report.html", force=True, out=out)
    return out / "report.html"


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two groups of three seeds, of three classes."""
    out = tmp_path_factory.mktemp("seeds")
    runs = [run_of_classes(out, 3, seed=seed, frozen=frozen) for frozen in (False, True) for seed in (1, 2, 3)]
    written_report(*(str(run) for run in runs), path=out / "report.html", force=True, out=out)
    return out / "report.html"


def show(browser: Any, page: Path, *, width: int, media: str = "", scheme: str = "light") -> None:
    emulate(browser, width=width, scheme=scheme)
    browser.get(page.as_uri())
    assert_becomes(browser, "return document.readyState", "complete")
    if media:  # a page is shown on the screen before it is printed, and a new process of Chromium starts as a screen
        emulate(browser, width=width, scheme=scheme, media=media)
        assert browser.execute_script("return matchMedia(arguments[0]).matches", media)


TOO_WIDE = """
return [...document.querySelectorAll('table')].filter(one => one.getClientRects().length).filter(one => {
  const box = one.closest('.scroll'), card = one.closest('.card').getBoundingClientRect();
  const right = Math.max(one.getBoundingClientRect().right, box.getBoundingClientRect().left + box.scrollWidth);
  return right > card.right + 0.5 || right > innerWidth;
}).map(one => one.closest('.card').querySelector('h3').textContent)"""
OVERLAPPING = """
const cards = [...document.querySelectorAll('.card')].map(one => [one, one.getBoundingClientRect()])
  .filter(([, box]) => box.width);
const found = [];
for (const [one, a] of cards) for (const [other, b] of cards)
  if (one !== other && a.left < b.right - 0.5 && b.left < a.right - 0.5
      && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5)
    found.push(one.textContent.trim().slice(0, 20));
return [found, cards.length]"""
VIOLATIONS = """
const done = arguments[arguments.length - 1];
axe.run().then(found => done(found.violations.map(one => [one.impact, one.id, one.nodes[0].html])), done);"""
PAPER = {"A4": 717, "Letter": 739}  # pixels between Chromium's margins


@pytest.mark.parametrize("paper", PAPER)
@pytest.mark.parametrize("name", ["six", "several", "page"])
def test_in_print_no_table_is_wider_than_its_card_and_no_cards_overlap(
    browser: Any, request: pytest.FixtureRequest, name: str, paper: str
) -> None:
    show(browser, request.getfixturevalue(name), width=PAPER[paper], media="print")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(TOO_WIDE) == []
    overlapping, count = browser.execute_script(OVERLAPPING)
    assert overlapping == [] and count > 6
    wide = "return [...document.querySelectorAll('.card')].filter(one => one.querySelector('table')).map(one => "
    widths = browser.execute_script(wide + "one.getBoundingClientRect().width)")
    assert min(width for width in widths if width) > 0.9 * PAPER[paper]  # one column


@pytest.mark.parametrize("width", [400, 1400])
def test_on_a_screen_no_table_is_hidden_in_a_scroll_box(browser: Any, six: Path, seeds: Path, width: int) -> None:
    for page in (six, seeds):
        show(browser, page, width=width)
        browser.execute_script(UNFOLD)
        assert browser.execute_script(TOO_WIDE) == []


def test_what_is_folded_for_reading_is_folded_again_after_printing(browser: Any, several: Path) -> None:
    show(browser, several, width=1400)
    sections = "section > details"
    count = "return ['[open]', ''].map(kind => document.querySelectorAll(arguments[0] + kind).length)"
    assert browser.execute_script(count, sections) == [0, 12]
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(count, sections) == [12, 12]
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(count, sections) == [0, 12]


@pytest.mark.parametrize("name", ["six", "several", "seeds"])
def test_on_a4_no_page_is_empty_and_what_is_folded_is_printed(
    browser: Any, request: pytest.FixtureRequest, name: str
) -> None:
    show(browser, request.getfixturevalue(name), width=1400)
    folded = len(browser.find_elements("css selector", "section > details:not([open])"))
    a4 = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
    pages = drawn_on_pages(base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", a4)["data"]))
    assert folded > 0
    assert min(pages) > 20, pages  # texts and shapes
    browser.execute_script("for (const one of document.querySelectorAll('section > details')) one.remove()")
    fewer = drawn_on_pages(base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", a4)["data"]))
    assert len(fewer) < len(pages)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["toy-cats", "toy-tags-sentence", "toy-spans-1", "toy-labels", "toy-choices"])
def test_axe_finds_nothing(browser: Any, shapes: dict[str, Path], tmp_path: Path, name: str, scheme: str) -> None:
    """Nothing at all, also nothing minor, in what axe-core tests by default."""
    axe = pytest.importorskip("axe_core_python.base", reason="needs axe-core-python, of the extra dev").AXE_FILE_PATH
    report(tmp_path, shapes[name])
    show(browser, tmp_path / "report.html", width=1280, scheme=scheme)
    browser.execute_script(UNFOLD)
    browser.set_script_timeout(120)
    browser.execute_script(Path(axe).read_text(encoding="utf-8"))
    assert browser.execute_async_script(VIOLATIONS) == []


def test_print_says_which_rows_are_shown_and_nothing_of_clicks(browser: Any, six: Path) -> None:
    show(browser, six, width=717, media="print")
    text = browser.execute_script("return document.body.innerText")
    assert "page 1 of" not in text
    said = browser.execute_script("return document.querySelector('.count').innerText")
    assert "rows: errors" in said and "sorted by confidence, highest first" in said
    assert browser.execute_script("return getComputedStyle(document.body).printColorAdjust") == "exact"
    show(browser, six, width=1400)
    text = browser.execute_script("return document.body.innerText")
    assert "page 1 of" in text and "sorted by confidence" not in text
