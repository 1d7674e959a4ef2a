"""What a real browser makes of the page of `finetune serve`, with real models behind it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.browser import CONTRAST, driven, emulate
from support.processes import soon
from support.runs import FinishedRun, as_json_lines, trained_run

pytestmark = pytest.mark.slow

KINDS = ("sentence", "regression", "multilabel", "span", "choice", "choice by letter")
TAGS = "the O\ncat B-PET\nsat O\n\nthe O\ndog B-PET\n\n" * 40
RELATIONS = [
    {"text": f"the {a} saw the {b} {i}", "e1": {"word": a}, "e2": {"word": b}, "label": "big" if i % 2 else "small"}
    for i in range(40)
    for a, b in [("cat", "dog") if i % 2 else ("bird", "cat")]
]
HOSTILE = "the <img src=x onerror=document.title='taken'> cat"
TOKEN = "a-token-for-this-test"
ROWS = {  # of each shape, in the order of the fields
    "sentence": ["the dog sat 3"],
    "regression": ["the cat 3 sat", "the dog 3 ran"],
    "multilabel": ["the cat 2"],
    "span": ["who sat?", "the cat sat 4"],
    "choice": ["the cat 2", "sat", "ran"],
    "choice by letter": ["the cat 2", "sat", "ran", "lay"],
    "tagging": ["the cat sat"],
    "relation": ["the cat saw the dog", "cat", "dog"],
}


@contextmanager
def serving(folder: Path, *arguments: str, **environment: str) -> Iterator[str]:
    """The address of a real `finetune serve` on a free port."""
    command = [sys.executable, "-m", "finetune", "serve", *arguments, "--port", "0"]
    with (folder / "serve.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=os.environ | environment, stdout=log, stderr=log)
    try:
        assert soon(lambda: "stops it" in (folder / "serve.log").read_text() or server.poll() is not None)
        (address,) = set(re.findall(r"http://127\.0\.0\.1:\d+", (folder / "serve.log").read_text()))
        yield address
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def runs(finished_run: FinishedRun, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of each shape by kind; the words and their tags are learnt."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "tags.conll").write_text(TAGS, encoding="utf-8")
    (folder / "relations.jsonl").write_text(as_json_lines(*RELATIONS), encoding="utf-8")
    once = {"train.epochs": 1, "train.patience": 1}
    return {
        **{kind: finished_run(kind) for kind in KINDS},
        "tagging": trained_run(folder / "tags", folder / "tags.conll", tiny_bert, **{"train.epochs": 15}),
        "relation": trained_run(folder / "relation", folder / "relations.jsonl", tiny_bert, spans="e1,e2", **once),
    }


@pytest.fixture(scope="module")
def server(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """The address of a server of the run of a kind, which is started when it is first asked for."""
    with ExitStack() as servers:

        @cache
        def address(kind: str) -> str:
            folder = tmp_path_factory.mktemp("server")
            return servers.enter_context(serving(folder, str(runs[kind])))

        yield address


@pytest.fixture(scope="module")
def reviews_server(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of one model that asks for a token."""
    folder = tmp_path_factory.mktemp("one")
    with serving(folder, str(runs["sentence"]), "--token-env", "PAGE_TOKEN", PAGE_TOKEN=TOKEN) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with driven(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


class Page:
    """The page in a browser, by what a user does; `server` is the address for a kind of run."""

    def __init__(self, browser: Any, server: Callable[[str], str]) -> None:
        self.browser, self.server = browser, server
        emulate(browser, width=1_400)
        browser.get_log("browser")

    def script(self, text: str, *values: Any) -> Any:
        return self.browser.execute_script(f"const at = id => document.getElementById(id); {text}", *values)

    def choose(self, kind: str) -> None:
        """Opens the page of the server of that run."""
        self.browser.get(self.server(kind))
        assert soon(lambda: self.script("return !document.querySelector('main').hidden"))

    def type(self, texts: list[str]) -> None:
        """Types a text into each field."""
        fields = self.browser.find_elements("css selector", "#fields textarea")
        assert len(fields) == len(texts)
        for field, text in zip(fields, texts, strict=True):
            field.clear()
            self.fill(field, text)

    def fill(self, field: Any, text: str) -> None:
        """Types; what is beyond the keys of the driver, such as an emoji, is put in."""
        change = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
        self.script(change, field, text) if max(text, default="a") > "\uffff" else field.send_keys(text)

    def predict(self) -> str:
        """Presses the button, and returns the prediction."""
        self.browser.find_element("css selector", "#row button").click()
        return self.found()

    def found(self) -> str:
        """The prediction, once it is there; or why there is none."""
        done = (
            "const said = at('state').innerText; return /^Predicting/.test(said) ? '' : at('answer').innerText || said"
        )
        assert soon(lambda: self.script(done), 20)
        return str(self.script(done))

    def errors(self) -> list[Any]:
        return [one for one in self.browser.get_log("browser") if one["level"] == "SEVERE"]


@pytest.fixture
def page(browser: Any, server: Callable[[str], str]) -> Page:
    return Page(browser, server)


CHECKS: dict[str, Callable[[str], bool]] = {
    "sentence": lambda found: found.startswith("bad") and "good" in found and found.count("%") >= 2,
    "regression": lambda found: re.fullmatch(r"-?\d+(\.\d+)?", found) is not None,
    "multilabel": lambda found: found.count("%") >= 2,
    "span": lambda found: "%" in found and "the answer" in found,
    "choice": lambda found: found.startswith(("sat", "ran")) and found.count("%") >= 2,
    "choice by letter": lambda found: found.startswith(("sat", "ran", "lay")) and found.count("%") >= 3,
    "tagging": lambda found: "cat\nPET" in found or "catPET" in found,
    "relation": lambda found: found.startswith(("big", "small")) and found.count("%") >= 2,
}


@pytest.mark.parametrize("kind", ROWS)
def test_each_shape_is_asked_and_answered(page: Page, kind: str) -> None:
    page.choose(kind)
    page.type(ROWS[kind])
    found = page.predict()
    assert CHECKS[kind](found), found
    assert page.errors() == []


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_is_whole_and_readable(page: Page, kind: str, width: int, scheme: str) -> None:
    emulate(page.browser, width=width, scheme=scheme)
    page.choose(kind)
    page.type(ROWS[kind])
    page.predict()
    inner, wide = page.script("return [innerWidth, document.documentElement.scrollWidth]")
    assert inner == width
    assert wide <= width
    contrast = page.browser.execute_script(CONTRAST)
    assert contrast["count"] > 12
    assert contrast["ratio"] >= 4.5, contrast
    assert (sum(contrast["page"]) < 3 * 60) == (scheme == "dark")


def test_the_keyboard_is_enough(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    focused = "return document.activeElement"
    keys = lambda *given: page.script(focused).send_keys(*given)  # noqa: E731
    page.choose("sentence")
    page.browser.find_element("tag name", "body").send_keys(Keys.TAB)
    keys("the dog sat 3")
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert page.script(outline) == "solid"
    keys(Keys.CONTROL, Keys.ENTER)
    assert page.found().startswith("bad")


def test_a_screen_reader_finds_a_name_for_every_control_and_hears_the_prediction(page: Page) -> None:
    nameless = """return [...document.querySelectorAll('button, input, select, textarea')].filter(one =>
      one.getClientRects().length && !one.textContent.trim() && !one.ariaLabel
      && ![...one.labels].some(label => label.textContent.trim())).length"""
    for kind in ROWS:
        page.choose(kind)
        assert page.script(nameless) == 0, kind
    assert page.script("return [at('answer').ariaLive, at('state').role, at('problem').role]") == [
        "polite", "status", "alert"
    ]  # fmt: skip


def test_an_emoji_moves_no_mark(page: Page) -> None:
    page.choose("tagging")
    page.type(["the 😀😀 the cat sat"])
    page.predict()
    assert "cat" in page.script("return [...document.querySelectorAll('mark')].map(one => one.firstChild.data)")


def test_what_is_lacking_is_said_in_place(page: Page) -> None:
    page.choose("span")
    page.type(["who sat?", ""])
    assert "context" in page.predict()


def test_an_error_of_the_server_is_said_in_place(page: Page) -> None:
    page.choose("sentence")
    page.script("at('fields').querySelector('textarea').value = 'a'.repeat(200000)")
    found = page.predict()
    assert "100,000" in found, found


def test_markup_in_a_text_is_shown_as_text(page: Page) -> None:
    for kind in ("tagging", "span", "choice", "sentence"):
        page.choose(kind)
        page.type([HOSTILE for _ in ROWS[kind][:-1]] + [f"{HOSTILE} sat"])
        found = page.predict()
        assert kind not in ("tagging", "choice") or "<img" in found
        assert page.script("return document.querySelectorAll('img').length") == 0
        assert "taken" not in page.script("return document.title")
    assert page.errors() == []


def test_no_request_leaves_the_server(page: Page, server: Callable[[str], str]) -> None:
    for kind in ROWS:
        server(kind)
    page.browser.get_log("performance")
    for kind in ROWS:
        page.choose(kind)
        page.type(ROWS[kind])
        page.predict()
    logged = [json.loads(one["message"])["message"] for one in page.browser.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in logged if one["method"] == "Network.requestWillBeSent"]
    assert len(asked) > len(ROWS)
    places = {urlsplit(one).netloc for one in asked if not one.startswith(("data:", "blob:"))}
    assert places == {urlsplit(server(kind)).netloc for kind in ROWS}
    assert page.script("return fetch('https://example.com').then(() => 'sent', () => 'refused')") == "refused"
    refused = [one["message"] for one in page.browser.get_log("browser")]
    assert any("Content Security Policy" in one for one in refused)


def test_a_server_with_a_token_is_asked_with_it(browser: Any, reviews_server: str) -> None:
    from selenium.webdriver.support.expected_conditions import alert_is_present
    from selenium.webdriver.support.wait import WebDriverWait

    page = Page(browser, lambda _: reviews_server)
    browser.get(reviews_server)
    for token, words in (("a-wrong-one", "asks for its token"), (TOKEN, "does not take this token")):
        asked = WebDriverWait(browser, 60).until(alert_is_present())
        assert words in asked.text
        asked.send_keys(token)
        asked.accept()
    assert soon(lambda: page.script("return !document.querySelector('main').hidden"))
    page.type(["the dog sat 3"])
    assert page.predict().startswith("bad")


def test_a_server_that_has_ended_is_named(browser: Any, runs: dict[str, Path], tmp_path: Path) -> None:
    with serving(tmp_path, str(runs["sentence"])) as address:
        page = Page(browser, lambda _: address)
        page.choose("sentence")
        page.type(["the dog sat 3"])
        assert page.predict().startswith("bad")
    assert "cannot be reached" in page.predict()
