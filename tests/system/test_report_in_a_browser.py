"""What a real browser makes of a report."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import CONTRAST
from support.reports import report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    for flag in (*flags.split(), "disable-component-update", "disable-sync"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true;"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_a_browser_shows_it_whole_and_readable(browser: Any, page: Path, width: int, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    browser.execute_script(UNFOLD)
    asked = "return [innerWidth, document.documentElement.scrollWidth, document.querySelectorAll('svg').length]"
    inner, wide, charts = browser.execute_script(asked)
    assert inner == width
    assert wide <= width
    assert charts > 30
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
    time.sleep(0.3)
    assert browser.execute_script(shown) == 64
    browser.execute_script(choose, "text", "no such text")
    time.sleep(0.3)
    assert browser.execute_script(shown) == 0
    browser.execute_script(choose, "text", "")
    browser.execute_script(choose, "kind", "least")
    time.sleep(0.3)
    assert browser.execute_script(shown) == 20
    assert browser.execute_script("return document.querySelector('[name=sort]').value") == "doubt"
    for link in browser.find_elements("css selector", "a[data-pair]"):
        count = int(link.text)
        browser.execute_script("arguments[0].click()", link)
        assert browser.execute_script(shown) == count
        assert browser.execute_script("return document.querySelectorAll('[data-rows] li').length") == min(count, 20)


def test_a_table_is_sorted_by_a_click(browser: Any, shapes: dict[str, Path], tmp_path: Path) -> None:
    report(tmp_path, shapes["toy-tags-sentence"])
    browser.get((tmp_path / "report.html").as_uri())
    column = "return [...document.querySelectorAll('table[data-sorts]')].at(-1).querySelectorAll('tbody tr')"
    names = f"{column.replace('return ', 'return [...')}].map(row => row.cells[0].textContent)"
    head = "[...document.querySelectorAll('table[data-sorts]')].at(-1).querySelector('th button').click()"
    browser.execute_script(head)
    first = browser.execute_script(names)
    assert first == sorted(first)
    browser.execute_script(head)
    assert browser.execute_script(names) == first[::-1]
