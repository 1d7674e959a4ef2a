"""Inline SVG: escaped elements, the width of a text in the page's fonts, and round numbers for an axis.

Text stays text, and colours are classes of the page's style sheet, so that they follow its light or dark scheme.
"""

import math
from collections.abc import Sequence
from unicodedata import combining, east_asian_width

import numpy as np
from markupsafe import Markup, escape

from finetune.task_types.marked_text import clean, cut

SIZE = 11.0  # units of a character's height
WIDTH = 360.0  # units of a chart, about its pixels on a screen of 400
DESCRIPTION_CHARS = 2_000  # characters of a chart's description
SERIES = ("s1", "s2", "s3", "s4", "s5")  # classes of the style sheet
NARROW, BROAD = frozenset("iIjlft.,:;'|!()[]· "), frozenset("mwMW@%—…&#+=<>~")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2")


def text_width(text: str, size: float = SIZE) -> float:
    """The units that a line of text takes in a broad font (DejaVu Sans), rounded up: full-width letters are square."""
    return size * sum(map(_em, text))


def fitted(text: str, width: float, size: float = SIZE) -> str:
    """The text, with its middle replaced by `…` where it is wider: names often differ in their ends."""
    text = clean(text)
    kept = min(len(text), int(width / size / 0.3))
    if kept == len(text) and text_width(text, size) <= width:
        return text
    while kept and text_width(_without_middle(text, kept), size) > width:
        kept -= 1
    return _without_middle(text, kept)


def element(template: str, **values: object) -> Markup:
    """An element from a template, with its values escaped and numbers rounded."""
    return Markup(template).format(**{name: _short(value) for name, value in values.items()})


def text_at(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> Markup:
    """A line of text; `anchor` is start, middle or end."""
    return element(
        '<text x="{x}" y="{y}" text-anchor="{anchor}" class="{kind}">{text}</text>',
        x=x, y=y, text=clean(text), anchor=anchor, kind=kind,
    )  # fmt: skip


def path(points: Sequence[tuple[float, float]]) -> Markup:
    """The `d` of a line through points, given in units."""
    return Markup("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points))


def image(body: Sequence[Markup], *, height: float, says: str) -> Markup:
    """The whole picture; `says` is its text alternative."""
    said = escape(clean(cut(says, DESCRIPTION_CHARS)))
    head = f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{said}"><title>{said}</title>'
    return Markup(clean(head + "\n".join(body) + "</svg>"))


def round_steps(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[float]:
    """Round numbers from `low` to `high`, at most `most`: multiples of 1, 2, 2.5 or 5 times a power of ten."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    sizes = [factor * power * scale for scale in (1, 10, 100) for factor in (1, 2, 2.5, 5)]
    step = next(size for size in sizes if span / size <= most and (not whole or size == round(size) >= 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * number, 12) for number in range(first, last + 1)]


def round_powers(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from 10**low to 10**high, for a logarithmic axis: 1, 2 or 5 times powers of ten, or powers alone
    where these are more than `most`; within less than a factor of five multiples as of `round_steps`.
    """
    powers = range(math.floor(low), math.ceil(high) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [factor * 10.0**power for power in powers for factor in factors]
        found = [value for value in found if low <= math.log10(value) <= high]
        if len(found) < 3:
            return round_steps(10.0**low, 10.0**high, most)
        if len(found) <= most:
            return found
    return found[:: math.ceil(len(found) / most)]


def number_text(value: float) -> str:
    """A number on an axis."""
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.1e}".replace(".0e", "e").replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def finite(values: Sequence[float]) -> list[float]:
    """The values that can be drawn."""
    return [float(value) for value in values if np.isfinite(value)]


def _without_middle(text: str, kept: int) -> str:
    end = kept * 2 // 5
    return text[: kept - end].rstrip() + "…" + (text[-end:].lstrip() if end else "")


def _em(letter: str) -> float:
    if combining(letter):
        return 0.0
    if east_asian_width(letter) in "WF":
        return 1.0
    if letter in NARROW:
        return 0.4
    return 1.0 if letter in BROAD else 0.79 if letter.isupper() else 0.64


def _short(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
