"""Charts as inline SVG: axes with round numbers, lines, dots and bars between them, and a legend.

Names get the room of a broad font, so that nothing is cut off. Text stays text, and colours are classes of the page's
style sheet, so that they follow its light or dark scheme.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import east_asian_width

from markupsafe import Markup

from finetune.analysis.pages.templates import templates_of
from finetune.task_types.marked_text import clean, cut

SIZE = 11.0  # units of a character's height
WIDTH = 360.0  # units of a chart, about its pixels on a screen of 400
LINE = 14.0  # units from a line of text to the next
GAP = 6.0
KEY = 40.0  # units of a picture in the legend, and of the room around its name
DESCRIPTION_CHARS = 2_000  # characters of a chart's description
LEAST_VALUE = 1e-300  # on a logarithmic axis
SERIES = ("s1", "s2", "s3", "s4", "s5")  # classes of the style sheet
BROAD = frozenset("mwMW@%—…&#+=<>~")  # letters as wide as high
SHAPES = {  # paths of markers
    "circle": "M-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
    "square": "M-3.2 -3.2h6.4v6.4h-6.4z",
    "diamond": "M0 -4.2L4.2 0L0 4.2L-4.2 0z",
    "left": "M3.2 -3.2L-4.2 0L3.2 3.2z",
    "right": "M-3.2 -3.2L4.2 0L-3.2 3.2z",
    "cross": "M-3.2 -3.2L3.2 3.2M3.2 -3.2L-3.2 3.2",
}
MARKERS = ("circle", "square", "diamond", "right", "left")
Coordinates = tuple[float, float]
UNITS = {"width": WIDTH, "line": LINE, "gap": GAP, "drop": SIZE * 0.36, "shapes": SHAPES}  # of the template


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The values from `low` to `high`, with ticks and their texts; None: the marks decide.

    `whole`: ticks are whole numbers. `margin` is a share of the span at the ends, `span` the least difference of the
    ends. `logarithmic`: the values are positive, and equal ratios are equally far apart; `low`, `high` and `span` are
    then common logarithms.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    ticks: Sequence[tuple[float, str]] = ()
    whole: bool = False
    margin: float = 0.05
    span: float = 0.0
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The value, or its common logarithm."""
        return math.log10(max(value, LEAST_VALUE)) if self.logarithmic else value

    def over(self, values: Sequence[float], most: int) -> "Axis":
        """The axis with ends and at most `most` ticks for these values."""
        finite = [at for at in map(self.at, values) if math.isfinite(at)] or [0.0]
        lowest, highest = min(finite), max(finite)
        middle, half = (lowest + highest) / 2, max(highest - lowest, self.span, 1e-9 * abs(highest), 1e-12) / 2
        margin = 2 * half * self.margin
        low = middle - half - margin if self.low is None else self.low
        high = middle + half + margin if self.high is None else self.high
        high = high if high > low else low + 1
        steps = round_powers(low, high, most) if self.logarithmic else round_steps(low, high, most, whole=self.whole)
        return replace(self, low=low, high=high, ticks=self.ticks or [(at, f"{at:,.10g}") for at in steps])

    def share(self, value: float) -> float:
        """The place of a value on the axis: 0 at `low`, 1 at `high`."""
        assert self.low is not None and self.high is not None
        return (self.at(value) - self.low) / (self.high - self.low)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Points: a line through them with a `dash` pattern or `none`, and markers of a `shape`. `name` is for the legend.

    With `bars` each two points are the corners of a filled rectangle.
    """

    points: Sequence[Coordinates]
    colour: str = "s1"
    dash: str = ""
    shape: str = ""
    name: str = ""
    bars: bool = False

    def drawn(self, ends: Sequence[Coordinates], dots: Sequence[tuple[float, float, object]]) -> dict[str, Any]:
        """Shapes for the template, in units: a line through `ends` or rectangles between them, and markers."""
        return {
            "path": "L".join(f"{x:.1f} {y:.1f}" for x, y in ends) if self.dash else "",
            "boxes": [(min(a, c), min(b, d), abs(c - a), abs(d - b))
                      for (a, b), (c, d) in zip(ends[::2], ends[1::2], strict=False) if self.bars],
            "dots": dots if self.shape else (),
        }  # fmt: skip


def chart(*panels: tuple[Sequence[Mark], Axis, float], x: Axis, says: str) -> Markup:
    """The picture: panels (marks, vertical axis, height) over one horizontal axis and one legend.

    `says` is the text alternative.
    """
    axes = [y.over([b for mark in marks for _, b in mark.points], max(2, int(high // 34))) for marks, y, high in panels]
    left = max((text_width(name) for y in axes for _, name in y.ticks), default=0.0) + GAP + 2
    drawn, bottom = list[dict[str, Any]](), -2 * LINE
    for (marks, _, height), y in zip(panels, axes, strict=True):
        top = bottom + 2 * LINE + (LINE + 4 if y.label else 6.0)
        bottom = top + height
        drawn.append(_panel(marks, x.over([a for mark in marks for a, _ in mark.points], 6), y, left, top, bottom))
    key_at, y_at, keys = WIDTH, bottom + LINE * (1 + bool(x.label)) + 2, []
    for mark in {mark.name: mark for marks, _, _ in panels for mark in marks if mark.name}.values():
        width = KEY + min(text_width(mark.name), WIDTH - KEY)
        if key_at - 4 + width > WIDTH:
            key_at, y_at = 4.0, y_at + LINE
        ends: Sequence[Coordinates] = [(2, -5), (18, 5)] if mark.bars else [(0, 0), (22, 0)]
        keys.append((key_at, y_at, mark, mark.drawn(ends, [(11, 0, None)]), fitted(mark.name, WIDTH - KEY)))
        key_at += width
    template = templates_of("finetune.analysis.pages").get_template("chart.svg.j2")
    text = template.render(panels=drawn, keys=keys, height=y_at + 12, says=cut(says, DESCRIPTION_CHARS), **UNITS)
    return Markup(text.strip() + "</svg>")


def _panel(marks: Sequence[Mark], x: Axis, y: Axis, left: float, top: float, bottom: float) -> dict[str, Any]:
    right = WIDTH - max(12.0, text_width(x.ticks[-1][1]) / 2 if x.ticks else 0.0)

    def place(a: float, b: float) -> Coordinates:
        return left + x.share(a) * (right - left), bottom - y.share(b) * (bottom - top)

    texts, end = list[tuple[float, str]](), -math.inf  # a text that would overlap the one before is left out
    for value, text in x.ticks:
        at, half = left + x.share(value) * (right - left), text_width(text) / 2
        texts.append((at, text * (at - half >= end)))
        end = at + half + 3 if at - half >= end else end
    label = fitted(x.label, WIDTH)
    return {
        "left": left, "right": right, "top": top, "bottom": bottom, "across": texts,
        "shapes": [(mark, mark.drawn([place(*point) for point in mark.points],
                                     [(*place(*point), point) for point in mark.points])) for mark in marks],
        "up": [(bottom - y.share(value) * (bottom - top), text) for value, text in y.ticks],
        "label": fitted(y.label, WIDTH), "below": label,
        "middle": min((left + right) / 2, WIDTH - text_width(label) / 2),
    }  # fmt: skip


def text_width(text: str) -> float:
    """The width of a line of text in units, at most: full-width letters are square."""
    return SIZE * sum(1.0 if east_asian_width(letter) in "WF" or letter in BROAD else 0.68 for letter in text)


def fitted(text: str, width: float) -> str:
    """The text, with its end replaced by `…` if it may be wider."""
    text = clean(text)
    return text if text_width(text) <= width else f"{text[: int(width / SIZE) - 1]}…"


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
    """Powers of ten from 10**low to 10**high, for a logarithmic axis; of many every second or third.

    With fewer than two powers in between they are the multiples of `round_steps`.
    """
    powers = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    return powers[:: math.ceil(len(powers) / most)] if len(powers) > 1 else round_steps(10.0**low, 10.0**high, most)
