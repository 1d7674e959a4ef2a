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
q("#pair-chips button").click();
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
const change = (id, value) => { q(id).value = value; q(id).dispatchEvent(new Event("change")); };
change("#mask-row", 1); change("#mask-kind", 3);
found.hidden = all("#mask-chips .is-hidden").length;
all("#mask-chips button")[1].click();
found.hiddenOfSecond = all("#mask-chips .is-hidden").length;
found.positions = all("#mask-chips button").length;
found.masked = all("#mask-chips small").map(t => +t.textContent).filter(Boolean);
found.sees = q("#mask-sees").textContent;
found.onPadding = all("#mask-rows tr").map(r => parseFloat(r.children[1].textContent));
change("#stream-layer", 1); change("#stream-token", 0);
found.stream = all("#stream-rows tr").map(r => [r.children[0].textContent, +r.children[1].textContent]);
found.bars = all("#stream-chart rect").length;
q("[data-language=ko]").click();
found.korean = [document.documentElement.lang, q("#head").textContent, q("#mask-sees").textContent,
  q("#stream-layer").selectedOptions[0].textContent, q("#measure").options[1].textContent, q("#measure").value];
found.english = all(".said[lang=en]").filter(e => e.getClientRects().length).length;
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


def test_masks_sums_and_languages(page: Path, tmp_path: Path) -> None:
    found: Any = in_a_browser(page, CLICKS, tmp_path)
    positions = found["positions"]
    assert (found["hidden"], found["hiddenOfSecond"]) == (positions - 1, positions - 2)  # under the causal mask
    assert sum(found["masked"]) == pytest.approx(1, abs=0.01)
    assert f"sees 2 of {positions}" in found["sees"]
    assert found["onPadding"][0] > 0
    assert found["onPadding"][1:] == [0, 0, 0]
    assert [name.split(":")[0] for name, _ in found["stream"]][:3] == ["x", "+ a", "= x + a"]
    lengths = [length for _, length in found["stream"]]
    assert lengths[0] - lengths[1] <= lengths[2] <= lengths[0] + lengths[1]  # of a sum
    assert found["bars"] == 4
    assert found["korean"][0] == "ko"
    assert found["korean"][1].startswith("2층, 헤드 2")
    assert "토큰은" in found["korean"][2]
    assert found["korean"][3:] == ["2층", "엔트로피(비트)", "entropy"]
    assert found["english"] == 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_is_whole_and_readable(page: Path, width: int, dark: bool, tmp_path: Path) -> None:
    found: Any = in_a_browser(page, WHOLE, tmp_path, width=width, dark=dark)
    assert (found["inner"], found["dark"], found["overlong"], found["asked"]) == (width, dark, 0, 0)
    assert found["wide"] <= width
    assert 0 < found["weight"] <= width  # without scrolling
    assert found["contrast"]["ratio"] >= 4.5, found


DECODER = (
    """
const all = selector => [...document.querySelectorAll(selector)], q = selector => document.querySelector(selector);
const sum = () => all("#cross-chips small").map(e => +e.textContent).reduce((a, b) => a + b, 0);
const found = {steps: all("#beams > li").length, texts: all("#written-rows tr").length};
found.dropped = all("#beams .is-hidden").length;
found.first = [sum(), all("#causal-chips .is-hidden").length];
q("#cross-token").value = 2; q("#cross-token").dispatchEvent(new Event("change"));
found.third = [sum(), all("#causal-chips .is-hidden").length];
q("[data-language=ko]").click();
found.korean = q("#beams small:last-child").textContent;
found.wide = document.documentElement.scrollWidth;
found.ratio = (() => {"""
    + CONTRAST
    + """})().ratio;
return found;
"""
)


@pytest.mark.parametrize("dark", [False, True])
def test_the_beams_of_a_decoder(tiny_pair: Path, tmp_path: Path, dark: bool) -> None:
    file = tmp_path / "view.html"
    inside = look(loaded_encoder(str(tiny_pair), out=tmp_path), ["the cat sat"], "bank", sentences_of("bank", None))
    write_inside(inside, file)
    found: Any = in_a_browser(file, DECODER, tmp_path, width=400, dark=dark)
    assert (found["steps"], found["texts"]) == (6, 4)
    assert found["dropped"] >= 20  # 4 of 8 candidates at each step but the last
    for (total, hidden), later in ((found["first"], 5), (found["third"], 3)):
        assert total == pytest.approx(1, abs=0.01)
        assert hidden == later
    assert found["korean"].endswith("유지")
    assert found["wide"] <= 400
    assert found["ratio"] >= 4.5
