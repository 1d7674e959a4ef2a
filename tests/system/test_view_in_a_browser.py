"""What a real browser makes of the pages of `finetune view` and `finetune explain`."""

from pathlib import Path
from typing import Any

import pytest
from support.browser import CONTRAST, in_a_browser

from finetune.commands.view.encoder import loaded_encoder, look
from finetune.commands.view.page import render_view
from finetune.commands.view.word_vectors import sentences_of

pytestmark = pytest.mark.slow

WHOLE = (
    """
const overlong = [...document.querySelectorAll("svg, canvas, section, button")].filter(e => !e.closest(".scroll")
  && e.getBoundingClientRect().right > innerWidth + 1).length;
return {overlong, inner: innerWidth, wide: document.documentElement.scrollWidth,
  asked: performance.getEntriesByType("resource").length,
  dark: matchMedia("(prefers-color-scheme: dark)").matches, contrast: (() => {"""
    + CONTRAST
    + """})()};
"""
)
CLICKS = """
const q = selector => document.querySelector(selector), all = selector => [...document.querySelectorAll(selector)];
const found = {heads: all("#grid button").length};
all("#grid button")[3].click();
found.head = q("#head").textContent;
found.linesOfAll = all("#pairs line").length;
q("#pair-chips button").click();
found.linesOfOne = all("#pairs line").length;
found.weights = all("#pairs text").map(t => t.textContent.match(/ (\\d\\.\\d{3})$/)).filter(Boolean).map(m => +m[1]);
const centre = p => { const b = p.getBoundingClientRect(); return Math.round(b.x + b.width / 2); };
found.freeText = q("#free text").textContent;
found.free = new Set(all("#free polygon, #free circle").map(centre)).size;
q("#stage").value = 1; q("#stage").dispatchEvent(new Event("input"));
found.first = q("#stage-name").textContent;
q("#stage").value = q("#stage").max; q("#stage").dispatchEvent(new Event("input"));
found.last = q("#stage-name").textContent;
found.number = q("#stage-number").textContent;
found.close = [q("#close td").textContent, all("#close tr").length];
found.points = all("#scatter circle, #scatter polygon").length;
q("#scatter polygon").dispatchEvent(new Event("click"));
found.sentence = q("#sentences .is-chosen").textContent;
all("#sentences button")[0].click();
found.picked = [all("#sentences [aria-pressed=true]").length, q("#scatter .is-picked").dataset.index];
return found;
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    file = tmp_path_factory.mktemp("view") / "view.html"
    texts = ["the bank </script><script>wrong.push(1)</script> sat", "a dog & bank"]
    found = sentences_of("bank", None, texts)
    inside = look(loaded_encoder(str(tiny_bert), out=file.parent), texts, "bank", found)
    file.write_text(render_view(inside), encoding="utf-8")
    return file


def test_a_student_can_click_through_it(page: Path, tmp_path: Path) -> None:
    found: Any = in_a_browser(page, CLICKS, tmp_path)
    assert found["heads"] == 4
    assert found["head"].startswith("Layer 2, head 2")
    assert found["linesOfOne"] < found["linesOfAll"]
    assert sum(found["weights"]) == pytest.approx(1, abs=0.03)
    assert found["free"] == 1  # without context a word is one point
    assert found["freeText"] == "22 sentences, one point"
    assert found["first"].startswith("after the embeddings")
    assert found["last"].startswith("layer 2")
    assert found["points"] == 22
    assert found["number"] == "2"
    assert found["close"] == ["1.000", 4]
    assert "bank" in found["sentence"]
    assert found["picked"] == [1, "0"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_is_whole_and_readable(page: Path, width: int, dark: bool, tmp_path: Path) -> None:
    found: Any = in_a_browser(page, WHOLE, tmp_path, width=width, dark=dark)
    assert (found["inner"], found["dark"], found["overlong"], found["asked"]) == (width, dark, 0, 0)
    assert found["wide"] <= width
    assert found["contrast"]["ratio"] >= 4.5, found


TOKENS = """
const q = selector => document.querySelector(selector), all = selector => [...document.querySelectorAll(selector)];
const cells = selector => all(selector).map(r => [...r.children].map(c => c.textContent));
const found = {head: cells("#token-table thead tr")[0], rows: cells("#token-table tbody tr")};
all("#hidden-chips button")[1].click();
found.hiddenText = q("#hidden-text").textContent;
found.guesses = cells("#hidden-guesses tr");
found.guessed = q("#hidden-guesses .note").textContent;
found.opens = all("#grid button").findIndex(b => b.getAttribute("aria-pressed") === "true");
found.says = q("#part-attention").innerText.match(/It opens on layer (\\d+), head (\\d+)/)?.slice(1);
return found;
"""
KEYBOARD = """
const q = selector => document.querySelector(selector), all = selector => [...document.querySelectorAll(selector)];
const found = {};
found.unreachable = all("[role=img] :is(a, button, [tabindex], [role=button])").length;
const name = e => e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.[0]?.textContent || "";
found.nameless = all("button, select, input, a").filter(e => !name(e)).map(e => e.outerHTML.slice(0, 80));
found.unnamedPictures = all("svg:not([aria-hidden]), canvas[role=img]").filter(e =>
  !e.getAttribute("aria-label") && !q(`#${e.getAttribute("aria-labelledby") || "none"}`)?.textContent).length;
const toggles = all(".chips button, #grid button, #sentences button");
found.unpressed = toggles.filter(e => !e.hasAttribute("aria-pressed")).length;
const ids = all("[id]").map(e => e.id);
found.twice = ids.filter((id, index) => ids.indexOf(id) !== index);
const chip = all("#pair-chips button")[2];
chip.focus(); chip.click();
found.focused = [...q("#pair-chips").children].indexOf(document.activeElement);
found.text = q("#pair-text").textContent;
document.activeElement.blur(); all("#pair-chips button")[2].focus({focusVisible: true});
found.outline = getComputedStyle(document.activeElement).outlineStyle;
return found;
"""


@pytest.fixture(scope="module")
def pretrained_page(tmp_path_factory: pytest.TempPathFactory, tiny_masked: Path) -> Path:
    """A page of a model with a layer for hidden words, of a pair with a word that its vocabulary lacks."""
    file = tmp_path_factory.mktemp("masked") / "view.html"
    texts = ["the cat sat 🐶", "a dog"]
    inside = look(loaded_encoder(str(tiny_masked), out=file.parent), texts, "bank", sentences_of("bank", None))
    file.write_text(render_view(inside), encoding="utf-8")
    return file


def test_tokens_and_hidden_words(pretrained_page: Path, tmp_path: Path) -> None:
    found: Any = in_a_browser(pretrained_page, TOKENS, tmp_path)
    assert found["head"][:5] == ["position", "word", "piece", "id", "segment"]
    words, pieces, segments = ([row[index] for row in found["rows"]] for index in (1, 2, 4))
    assert pieces == ["[CLS]", "the", "cat", "sat", "[UNK]", "[SEP]", "a", "dog", "[SEP]"]
    assert words == ["added", "1 the", "2 cat", "3 sat", "4 🐶", "added", "5 a", "6 dog", "added"]
    assert segments == ["0"] * 6 + ["1"] * 3
    assert found["hiddenText"] == "[CLS] the [MASK] sat [UNK] [SEP] a dog [SEP]"
    assert len(found["guesses"]) == 5
    shares = [float(row[1]) for row in found["guesses"]]
    assert shares == sorted(shares, reverse=True)
    assert "cat" in found["guessed"]
    assert found["says"] == [str(found["opens"] // 2 + 1), str(found["opens"] % 2 + 1)]


def test_it_is_used_by_keyboard_and_read_aloud(pretrained_page: Path, tmp_path: Path) -> None:
    found: Any = in_a_browser(pretrained_page, KEYBOARD, tmp_path)
    assert (found["unreachable"], found["unnamedPictures"], found["unpressed"]) == (0, 0, 0)
    assert (found["nameless"], found["twice"]) == ([], [])
    assert found["focused"] == 2
    assert found["text"].startswith("“cat” looks most at ")
    assert found["outline"] == "solid"
