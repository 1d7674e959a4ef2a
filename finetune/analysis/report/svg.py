"""Figures of matplotlib as SVG inside the page: its text stays text, and its colours are the page's, light or dark."""

import io
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from finetune.task_types.marked_text import cut

# Colours that stand for the page's own; nothing of matplotlib's looks like them.
INK, QUIET, GRID, SURFACE = "#010203", "#020304", "#030405", "#040506"
ONE, TWO, THREE = SERIES = ("#050607", "#060708", "#070809")
NAMES = {
    INK: "currentColor",
    QUIET: "var(--quiet)",
    GRID: "var(--grid)",
    SURFACE: "var(--surface)",
    **{colour: f"var(--series{number})" for number, colour in enumerate(SERIES, start=1)},
}
NAME = 22  # characters of a name beside an axis
LONGEST = 2_000  # characters of a chart in words
WIDTH = 360  # units of the picture; a page of 400 pixels shows it at about this width
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a label may hold dollar signs
    "font.family": "DejaVu Sans",  # which matplotlib brings along, and measures with
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "hatch.linewidth": 0.8,
}


def drawn(draw: Callable[[Figure], Any], *, says: str, height: int = 240) -> Markup:
    """An inline `<svg>` with what `draw` puts on a figure. `says` is its content in words, for who cannot see it."""
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # the reader's browser has the glyphs
    figure = Figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
    text = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": says}):  # so that no two pictures share a name
        draw(figure)
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inline(text.getvalue(), says, height)


def axes_of(figure: Figure, *, x: str = "", y: str = "", **facts: Any) -> Axes:
    """The one pair of axes of a figure, named."""
    axes = figure.subplots(**facts)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return axes  # type: ignore[no-any-return]


def percent(values: Sequence[float]) -> list[float]:
    """From a scale of 0 to 1."""
    return [100 * value for value in values]


def _inline(text: str, says: str, height: int) -> Markup:
    body = text[text.index("<g id=") : text.rindex("</svg>")]
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r"(?<=px; )font-family: [^;\"]*; ", "", body)
    body = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), body)
    body = re.sub(r"\n\s*", "\n", body)
    body = re.sub(r"(?<=[ \"])#0\d{5}(?=[;\"])", lambda colour: NAMES.get(colour[0], colour[0]), body)
    title = escape(cut(says, LONGEST))
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}"><title>{title}</title>'
    return Markup(f"{head}{body}</svg>")
