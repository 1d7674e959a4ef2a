"""What a real browser makes of the pages of `finetune report`, `view` and `serve`: whole, readable, and of use."""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.reports import report
from support.runs import FinishedRun, trained_run
from support.served import serve_process

from finetune.commands.view.encoder import loaded_encoder
from finetune.commands.view.look import look
from finetune.commands.view.page import render_view
from finetune.commands.view.word_vectors import sentences_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true;"
VIOLATIONS = """
const done = arguments[arguments.length - 1];
axe.run().then(found => done(found.violations.map(each => [each.impact, each.id, each.nodes[0].html])), done);"""
OVERLONG = """return [...document.querySelectorAll("svg, canvas, section, button, .card, mark")]
  .filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1).length"""
LOADED = "return performance.getEntriesByType('resource').length"  # of a page in a file
HOSTILE = "the <img src=x onerror=document.title='taken'> cat"
TOKEN = "a-token-for-this-test"
TAGS = "the O\ncat B-PET\nsat O\n\nthe O\ndog B-PET\n\n" * 40
ASKED = {  # of each shape: what is typed into the fields, and what the answer matches
    "sentence": (["the dog sat 3"], "^bad(?s:.*)good"),
    "multilabel": (["the cat 2"], "%(?s:.*)%"),
    "span": (["who sat?", "the cat sat 4"], "the answer(?s:.*)%"),
    "choice": (["the cat 2", "sat", "ran"], "^(sat|ran)(?s:.*)%(?s:.*)%"),
    "tagging": (["the cat sat"], "cat\n?PET"),
}


PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-quic", "disable-sync", "accept-lang=en"),
)
# Contrast of each text with what is behind it: the worst, and how many texts there are.
CONTRAST = """
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const over = (colour, below) => {  // any CSS colour on top of another, as the browser mixes them
  canvas.fillStyle = `rgb(${below})`; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const behind = element => {
  const chain = [];
  for (let e = element; e; e = e.parentElement) chain.push(getComputedStyle(e).backgroundColor);
  return chain.reverse().reduce((below, colour) => over(colour, below), [255, 255, 255]);
};
const worst = {ratio: 99, text: "", count: 0};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
  if (!text || element.closest("title") || !element.getClientRects().length) continue;
  const style = getComputedStyle(element);
  const below = behind(element);
  const [a, b] = [light(over(element instanceof SVGElement ? style.fill : style.color, below)), light(below)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  worst.count += 1;
  if (ratio < worst.ratio) { worst.ratio = ratio; worst.text = text; }
}
return {...worst, page: behind(document.body)};
"""


def emulate(browser: Any, *, width: int, scheme: str) -> None:
    """A window of a width, and a colour scheme."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def soon(true: Callable[[], object], seconds: float = 120.0) -> bool:
    """Whether it becomes true within so many seconds."""
    until = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < until:
        time.sleep(0.02)
    return bool(found)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real headless Chromium with a driver. Skips where either is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = next(filter(None, map(shutil.which, PROGRAMS)), None), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


def assert_sound(browser: Any) -> None:
    """The open page fits a phone and a screen in light and dark, is readable, and axe finds nothing at all."""
    axe = pytest.importorskip("axe_core_python.base", reason="needs axe-core-python, of the extra dev").AXE_FILE_PATH
    browser.set_script_timeout(120)
    browser.execute_script(UNFOLD)
    browser.execute_script(Path(axe).read_text(encoding="utf-8"))
    for width in (400, 1400):
        for scheme in ("light", "dark"):
            emulate(browser, width=width, scheme=scheme)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            assert browser.execute_script(OVERLONG) == 0
            contrast = browser.execute_script(CONTRAST)
            assert contrast["ratio"] >= 4.5, contrast
            assert (sum(contrast["page"]) < 3 * 60) == (scheme == "dark")
            if width == 1400:
                assert browser.execute_async_script(VIOLATIONS) == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.parametrize("name", ["toy-cats", "toy-tags-sentence", "toy-spans-1"])
def test_a_report_is_sound(browser: Any, shapes: dict[str, Path], tmp_path: Path, name: str) -> None:
    report(tmp_path, shapes[name])
    browser.get((tmp_path / "report.html").as_uri())
    assert_sound(browser)
    assert browser.execute_script(LOADED) == 0


def test_rows_of_a_report_are_filtered_and_reached_from_the_confusion(
    browser: Any, shapes: dict[str, Path], tmp_path: Path
) -> None:
    report(tmp_path, shapes["toy-cats"])
    browser.get((tmp_path / "report.html").as_uri())
    shown = "return Number(document.querySelector('[data-rows]').dataset.shown)"
    choose = """const form = document.querySelector('[data-rows] form');
      form.elements[arguments[0]].value = arguments[1];
      form.elements.kind.dispatchEvent(new Event('input', {bubbles: true}));"""
    for field, value, count in (("kind", "all", 64), ("text", "no such text", 0), ("text", "", 64)):
        browser.execute_script(choose, field, value)
        assert soon(lambda count=count: browser.execute_script(shown) == count, 10), (field, value)
    for link in browser.find_elements("css selector", "a[data-label]"):
        count = int(link.text)
        browser.execute_script("arguments[0].click()", link)
        assert browser.execute_script(shown) == count


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory, tiny_masked: Path) -> Path:
    """A page of a model with a layer for hidden words, of texts with markup and a word that its vocabulary lacks."""
    file = tmp_path_factory.mktemp("view") / "view.html"
    texts = ["the </script><script>document.title='taken'</script> cat sat 🐶", "a dog"]
    inside = look(loaded_encoder(str(tiny_masked), out=file.parent), texts, "bank", sentences_of("bank", None))
    file.write_text(render_view(inside), encoding="utf-8")
    return file


CLICKED = """
const q = selector => document.querySelector(selector), all = selector => [...document.querySelectorAll(selector)];
const found = {heads: all("#grid button").length};
all("#grid button")[3].click();
found.head = q("#head").textContent;
found.all = all("#pairs line").length;
q("#pair-chips button").click();
found.one = all("#pairs line").length;
found.weights = all("#pairs text").map(t => t.textContent.match(/ (\\d\\.\\d{3})$/)).filter(Boolean).map(m => +m[1]);
q("#stage").value = q("#stage").max; q("#stage").dispatchEvent(new Event("input"));
found.stage = q("#stage-name").textContent;
found.points = all("#scatter circle, #scatter polygon").length;
all("#hidden-chips button")[1].click();
found.hidden = q("#hidden-text").textContent;
found.guesses = all("#hidden-guesses tr").map(row => +row.children[1].textContent);
q("[data-language=ko]").click();
found.korean = [document.documentElement.lang, q("#head").textContent];
return found;"""


def test_a_view_is_sound_and_a_student_can_click_through_it(browser: Any, view: Path) -> None:
    browser.get(view.as_uri())
    found = browser.execute_script(CLICKED)
    assert (found["heads"], found["head"][:15]) == (4, "Layer 2, head 2")
    assert found["one"] < found["all"]
    assert sum(found["weights"]) == pytest.approx(1, abs=0.03)
    assert (found["stage"][:7], found["points"]) == ("layer 2", 20)
    assert "[MASK]" in found["hidden"]
    assert found["guesses"] == sorted(found["guesses"], reverse=True)
    assert (found["korean"][0], found["korean"][1][:8]) == ("ko", "2층, 헤드 2")
    assert browser.title != "taken"
    browser.get(view.as_uri())
    assert_sound(browser)
    assert browser.execute_script(LOADED) == 0


@pytest.fixture
def served_run(kind: str, finished_run: FinishedRun, tiny_bert: Path, tmp_path: Path) -> Path:
    """A run of a shape; the words and their tags are learnt."""
    if kind == "tagging":
        (tmp_path / "tags.conll").write_text(TAGS, encoding="utf-8")
        return trained_run(tmp_path / "run", tmp_path / "tags.conll", tiny_bert, **{"train.epochs": 15})
    return finished_run(kind)


def predicted(browser: Any, texts: list[str]) -> str:
    """Types a text into each field of serve's page, presses the button, and returns what is said."""
    fields = browser.find_elements("css selector", "#fields textarea")
    for field, text in zip(fields, texts, strict=True):
        field.clear()
        field.send_keys(text)
    browser.find_element("css selector", "#row button").click()
    said = """const said = document.getElementById('state').innerText;
      return /^Predicting/.test(said) ? '' : document.getElementById('answer').innerText || said"""
    assert soon(lambda: browser.execute_script(said), 20)
    return str(browser.execute_script(said))


def opened(browser: Any, address: str) -> None:
    """Opens serve's page; what an earlier server's end left in the log goes."""
    browser.get_log("browser")
    browser.get(address)
    assert soon(lambda: browser.execute_script("return !document.querySelector('main').hidden"))


@pytest.mark.parametrize("kind", ASKED)
def test_serve_answers_each_shape_on_a_sound_page_that_asks_nobody_else(
    kind: str, served_run: Path, browser: Any
) -> None:
    texts, answer = ASKED[kind]
    with serve_process(served_run) as server:
        address = server.address
        browser.get_log("performance")
        opened(browser, address)
        assert re.search(answer, predicted(browser, texts))
        assert_sound(browser)
        predicted(browser, [HOSTILE for _ in texts[1:]] + [f"{HOSTILE} sat"])
        assert browser.execute_script("return document.querySelectorAll('img').length") == 0
        assert browser.title != "taken"
        logged = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        sent = [entry["params"] for entry in logged if entry["method"] == "Network.requestWillBeSent"]
        asked = [one["request"]["url"] for one in sent if not one["request"]["url"].startswith(("data:", "blob:"))]
        assert {urlsplit(url).netloc for url in asked} == {urlsplit(address).netloc}
    assert "cannot be reached" in predicted(browser, texts)


def test_serve_asks_for_its_token(browser: Any, finished_run: FinishedRun) -> None:
    from selenium.webdriver.support.expected_conditions import alert_is_present
    from selenium.webdriver.support.wait import WebDriverWait

    with serve_process(finished_run("sentence"), "--token-env", "PAGE_TOKEN", PAGE_TOKEN=TOKEN) as server:
        browser.get(server.address)
        for token, words in (("a-wrong-one", "asks for its token"), (TOKEN, "does not take this token")):
            prompt = WebDriverWait(browser, 60).until(alert_is_present())
            assert words in prompt.text
            prompt.send_keys(token)
            prompt.accept()
        assert soon(lambda: browser.execute_script("return !document.querySelector('main').hidden"))
        assert predicted(browser, ["the dog sat 3"]).startswith("bad")
