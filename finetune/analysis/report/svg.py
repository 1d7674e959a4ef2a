"""Matplotlib figures as inline SVG: text stays text, and colours follow the page's light or dark theme."""

import io
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from finetune.task_types.marked_text import clean, cut

# Placeholders of the page's CSS colours; matplotlib itself uses none of them.
INK, QUIET, GRID, SURFACE = "#010203", "#020304", "#030405", "#040506"
ONE, TWO, THREE = SERIES = ("#050607", "#060708", "#070809")
NAMES = {
    INK: "currentColor",
    QUIET: "var(--quiet)",
    GRID: "var(--grid)",
    SURFACE: "var(--surface)",
    **{colour: f"var(--series{number})" for number, colour in enumerate(SERIES, start=1)},
}
NAME = 22  # characters of a tick label
LABEL = 60  # characters of an axis label
LONGEST = 2_000  # characters of a chart's description
WIDTH = 360  # units of the view box, about the width on a screen of 400 pixels
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a label may contain dollar signs
    "font.family": "DejaVu Sans",  # shipped with matplotlib, which measures text with it
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
    """An inline `<svg>` of what `draw` puts on a figure. `says` is its text alternative."""
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # the browser has the glyphs
    figure = Figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
    text = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": says}):  # so that ids are unique on the page
        draw(figure)
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inline(clean(text.getvalue()), says, height)


def axes_of(figure: Figure, *, x: str = "", y: str = "", **facts: Any) -> Axes:
    """The axes of a figure, labelled."""
    axes = figure.subplots(**facts)
    axes.set_xlabel(cut(x, LABEL))
    axes.set_ylabel(cut(y, LABEL))
    return axes  # type: ignore[no-any-return]


def percent(values: Sequence[float]) -> list[float]:
    """Values of 0 to 1 in percent."""
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
