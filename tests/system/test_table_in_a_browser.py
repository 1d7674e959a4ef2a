"""What a real browser makes of the page of `finetune table -o table.html`."""

from pathlib import Path

import pytest
from support.browser import in_a_browser
from support.paths import ROOT

import finetune

pytestmark = pytest.mark.slow

SIZES = """
const shown = [...document.querySelectorAll("td, th")].filter(cell => cell.getClientRects().length);
return {overlong: shown.filter(cell => cell.getBoundingClientRect().right > innerWidth + 1).length,
  wide: document.documentElement.scrollWidth, cells: shown.filter(cell => cell.textContent.trim()).length,
  named: shown.map(cell => getComputedStyle(cell, "::before").content).filter(text => text.includes("QQP")).length};
"""


@pytest.mark.parametrize("form", ["paper", "runs"])
def test_a_table_is_read_without_scrolling_sideways(form: str, tmp_path: Path) -> None:
    """On a phone each cell has the name of its column, which has no heading there."""
    page = finetune.table("glue", out=ROOT / "results").write(tmp_path / "table.html", form=form)
    for width in (400, 1_000, 1_400):
        found = in_a_browser(page, SIZES, tmp_path, width=width)
        assert found["overlong"] == 0 and found["wide"] <= width
        assert found["cells"] > 50
        assert bool(found["named"]) == (width == 400 and form == "paper")
