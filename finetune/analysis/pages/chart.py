"""A chart: two axes, marks between them, and a legend; room for names is measured, so that nothing is cut off."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from finetune.analysis.pages.marks import Mark
from finetune.analysis.pages.svg import (
    SIZE,
    WIDTH,
    element,
    finite,
    fitted,
    image,
    number_text,
    round_powers,
    round_steps,
    text_at,
    text_width,
)

LINE = 14.0  # units from a line of text to the next
MOST_NAME = 158.0  # units of a name at the axis: that of the longest baseline
GAP = 6.0
LEAST_VALUE = 1e-300  # on a logarithmic axis


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The values from `low` to `high`, with ticks and their texts; None means: as the marks need.

    `whole`: ticks are whole numbers. `margin` is a share of the span that is left free at the ends. `logarithmic`: the
    values are positive, and equal ratios are equally far apart; `low`, `high` and `span` are then common logarithms.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    ticks: Sequence[tuple[float, str]] = ()
    whole: bool = False
    margin: float = 0.05
    span: float = 0.0  # at least
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a value is between `low` and `high`."""
        return math.log10(max(value, LEAST_VALUE)) if self.logarithmic else value

    def over(self, values: Sequence[float], most: int) -> "Axis":
        """The axis with ends and ticks for these values."""
        known = finite([self.at(value) for value in values]) or [0.0]
        lowest, highest = min(known), max(known)
        middle, half = (lowest + highest) / 2, max(highest - lowest, self.span, 1e-9 * abs(highest), 1e-12) / 2
        free = 2 * half * self.margin
        low = middle - half - free if self.low is None else self.low
        high = middle + half + free if self.high is None else self.high
        high = high if high > low else low + 1
        steps = round_powers(low, high, most) if self.logarithmic else round_steps(low, high, most, whole=self.whole)
        ticks = self.ticks or [(at, number_text(at)) for at in steps]
        return replace(self, low=low, high=high, ticks=ticks)


def names_axis(names: Sequence[str]) -> Axis:
    """An axis with a name for each of 0, 1, 2 ... from the top down."""
    places = [(-float(index), name) for index, name in enumerate(names)]
    return Axis(ticks=places, low=-len(names) + 0.4, high=0.6)


def chart(marks: Sequence[Mark], *, x: Axis, y: Axis, says: str, height: float = 220.0) -> Markup:
    """The picture; `height` is that of the area between the axes. `says` is its text alternative."""
    body = list(area(marks, x=x, y=y, top=0.0, height=height, legend=True))
    around = _above(y) + LINE * (1 + bool(x.label) + len(_legend_lines(marks))) + 14
    return image(body, height=height + around, says=says)


def stacked(
    first: Sequence[Mark], second: Sequence[Mark], *, x: Axis, ys: Sequence[Axis], says: str, below: float = 48.0
) -> Markup:
    """Two charts, one over the other, with the same horizontal axis and one legend; `below` is the height of the second
    between its axes.
    """
    above = 170.0
    names = [mark for mark in (*first, *second) if mark.name]
    left = max(_left(marks, y, height) for marks, y, height in ((first, ys[0], above), (second, ys[1], below)))
    body = [*area(first, x=replace(x, label=""), y=ys[0], top=0.0, height=above, legend=False, left=left)]
    second_top = above + 2 * LINE + 18
    body += area(second, x=x, y=ys[1], top=second_top, height=below, legend=False, left=left)
    bottom = second_top + below + 3 * LINE + 14
    body += _legend(names, bottom)
    return image(body, height=bottom + LINE * len(_legend_lines(names)) + 4, says=says)


def area(
    marks: Sequence[Mark], *, x: Axis, y: Axis, top: float, height: float, legend: bool, left: float = 0.0
) -> Iterator[Markup]:
    """The elements of a chart whose upper edge is at `top`; texts of ticks take `left` units, or as many as needed."""
    left = left or _left(marks, y, height)
    x = x.over([value for mark in marks for value in mark.xs], 6)
    y = _ticked(marks, y, height)
    names = [fitted(name, MOST_NAME) for _, name in y.ticks]
    right = WIDTH - max(12.0, text_width(x.ticks[-1][1]) / 2 if x.ticks else 0.0)
    top += _above(y)
    bottom = top + height

    def place(a: float, b: float) -> tuple[float, float]:
        assert x.low is not None and x.high is not None and y.low is not None and y.high is not None
        across = left + (x.at(a) - x.low) / (x.high - x.low) * (right - left)
        return across, bottom - (y.at(b) - y.low) / (y.high - y.low) * height

    if y.label:
        yield text_at(0, top - 8, fitted(y.label, WIDTH), kind="axis")
    for (at, _), name in zip(y.ticks, names, strict=True):
        _, down = place(x.low or 0.0, at)
        yield element('<path d="M{left} {y}H{right}" class="grid"/>', left=left, right=right, y=down)
        yield text_at(left - GAP, down + SIZE * 0.36, name, anchor="end")
    for at, text in _apart([(place(at, 0.0)[0], text) for at, text in x.ticks]):
        yield element('<path d="M{x} {top}V{bottom}" class="grid"/>', x=at, top=top, bottom=bottom)
        yield text_at(at, bottom + LINE, text, anchor="middle")
    yield element('<path d="M{left} {y}H{right}" class="edge"/>', left=left, right=right, y=bottom)
    for mark in marks:
        yield from mark.draw(place)
    if x.label:
        label = fitted(x.label, WIDTH)
        middle = min((left + right) / 2, WIDTH - text_width(label) / 2)
        yield text_at(middle, bottom + 2 * LINE, label, anchor="middle", kind="axis")
    if legend:
        yield from _legend(marks, bottom + LINE * (1 + bool(x.label)) + 10)


def _ticked(marks: Sequence[Mark], y: Axis, height: float) -> Axis:
    return y.over([value for mark in marks for value in mark.ys], max(2, int(height // 34)))


def _left(marks: Sequence[Mark], y: Axis, height: float) -> float:
    """The units that the texts of the vertical axis take."""
    names = [fitted(name, MOST_NAME) for _, name in _ticked(marks, y, height).ticks]
    return max(map(text_width, names), default=0.0) + GAP + 2


def _above(y: Axis) -> float:
    """The units over the area between the axes."""
    return LINE + 4 if y.label else 6.0


def _apart(ticks: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """The ticks, without texts that would overlap the one before."""
    end = -1e9
    for at, text in ticks:
        half = text_width(text) / 2
        if at - half < end:
            yield at, ""
        else:
            end = at + half + 3
            yield at, text


def _legend_lines(marks: Sequence[Mark]) -> list[list[Mark]]:
    """The marks with different names, in lines that fit."""
    lines: list[list[Mark]] = []
    used = WIDTH
    for mark in {mark.name: mark for mark in marks if mark.name}.values():
        width = 40 + min(text_width(mark.name), WIDTH - 40)
        if used + width > WIDTH:
            lines.append([])
            used = 0.0
        lines[-1].append(mark)
        used += width
    return lines


def _legend(marks: Sequence[Mark], top: float) -> Iterator[Markup]:
    for number, some in enumerate(_legend_lines(marks)):
        left, y = 4.0, top + LINE * number + 6
        for mark in some:
            yield element('<g transform="translate({x} {y})">{key}</g>', x=left, y=y, key=mark.key)
            yield text_at(left + 27, y + SIZE * 0.36, fitted(mark.name, WIDTH - 40))
            left += 40 + text_width(mark.name)
