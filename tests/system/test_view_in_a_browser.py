"""What a real browser makes of the pages of `finetune view` and `finetune explain`."""

from pathlib import Path
from typing import Any

import pytest
from support.browser import CONTRAST, in_a_browser

from finetune.commands.view.look import loaded_encoder, look
from finetune.commands.view.page import write_inside
from finetune.commands.view.sentences import sentences_of, typed_sentences

pytestmark = pytest.mark.slow

WHOLE = (
    """
const overlong = [...document.querySelectorAll("svg, canvas, section, button")].filter(e => !e.closest(".scroll")
  && e.getBoundingClientRect().right > innerWidth + 1).length;
const weight = [...document.querySelectorAll("#step-rows td:nth-child(5)")]
  .map(cell => cell.getBoundingClientRect().right);
return {overlong, weight: Math.max(...weight), inner: innerWidth, wide: document.documentElement.scrollWidth,
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
q("#pairs [role=button]").dispatchEvent(new Event("click"));
found.linesOfOne = all("#pairs line").length;
found.weights = all("#pairs text").map(t => t.textContent.match(/ (\\d\\.\\d{3})$/)).filter(Boolean).map(m => +m[1]);
q("#measure").value = "entropy"; q("#measure").dispatchEvent(new Event("change"));
found.entropy = q("#grid span").textContent;
found.stepHead = q("#step-head").value;
found.shares = all("#step-rows tr").map(tr => +tr.dataset.share);
const centre = p => { const b = p.getBoundingClientRect(); return Math.round(b.x + b.width / 2); };
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
found.strips = all("#strips .strip").length;
found.segments = all("#segments tr").length;
return found;
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    file = tmp_path_factory.mktemp("view") / "view.html"
    texts = ["the bank </script><script>wrong.push(1)</script> sat", "a dog & bank"]
    found = [*sentences_of("bank", None), *typed_sentences("bank", texts)]
    write_inside(look(loaded_encoder(str(tiny_bert), out=file.parent), texts, "bank", found), file)
    return file


def test_a_student_can_click_through_it(page: Path, tmp_path: Path) -> None:
    found: Any = in_a_browser(page, CLICKS, tmp_path)
    assert found["heads"] == 4
    assert found["head"].startswith("Layer 2, head 2")
    assert found["linesOfOne"] < found["linesOfAll"]
    assert sum(found["weights"]) == pytest.approx(1, abs=0.03)
    assert sum(found["shares"]) == pytest.approx(1, abs=0.03)
    assert float(found["entropy"]) > 0
    assert found["stepHead"] == "1"
    assert found["free"] == 0  # of one word all points would be one
    assert found["first"].startswith("after the embeddings")
    assert found["last"].startswith("layer 2")
    assert found["points"] == 22
    assert found["number"] == "2"
    assert found["close"] == ["1.000", 4]
    assert "bank" in found["sentence"]
    assert (found["strips"], found["segments"]) == (3, 3)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_is_whole_and_readable(page: Path, width: int, dark: bool, tmp_path: Path) -> None:
    found: Any = in_a_browser(page, WHOLE, tmp_path, width=width, dark=dark)
    assert (found["inner"], found["dark"], found["overlong"], found["asked"]) == (width, dark, 0, 0)
    assert found["wide"] <= width
    assert 0 < found["weight"] <= width  # without scrolling
    assert found["contrast"]["ratio"] >= 4.5, found
