"""Parallel coordinates: a vertical axis for each setting and one for the score, and a line for each trial."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from finetune.analysis.pages.svg import (
    SIZE,
    WIDTH,
    element,
    fitted,
    image,
    number_text,
    path,
    round_powers,
    round_steps,
    text_at,
    text_width,
)

HEIGHT = 190.0  # units of the axes
TOP, BELOW, BETWEEN = 34.0, 16.0, 4.0  # units above the axes, below them, and from an axis to its texts
TICKS = 5  # of an axis of numbers
KINDS = {"best": ("s2", 2.4, 1.0), "good": ("s1", 1.5, 0.9), "other": ("quiet", 1.0, 0.45)}  # colour, width, opacity

Kind = Literal["best", "good", "other"]
Value = float | str | None


@dataclass(frozen=True, kw_only=True)
class ParallelAxis:
    """An axis: the values of `choices` evenly from the bottom, or of numbers from the least to the greatest there is.

    `whole`: ticks are whole numbers. Where `logarithmic`, equal ratios are equally far apart.
    """

    name: str
    choices: Sequence[str] = ()
    logarithmic: bool = False
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class ParallelLine:
    """A value on each axis, and what is shown under the pointer; None ends the line. `dashed` is of a stopped trial."""

    values: Sequence[Value]
    tip: str
    kind: Kind = "other"
    dashed: bool = False


def parallel_chart(axes: Sequence[ParallelAxis], lines: Sequence[ParallelLine], *, says: str) -> Markup:
    """The picture; the last lines are drawn on top. `says` is its text alternative."""
    scales = [_Scale.of(axis, [line.values[at] for line in lines]) for at, axis in enumerate(axes)]
    xs = _places(scales)
    body = [part for line in lines for part in _line(line, scales, xs)]
    room = (xs[-1] - xs[0]) / max(1, len(xs) - 1) - BETWEEN
    for number, (scale, x) in enumerate(zip(scales, xs, strict=True)):
        body += _axis(scale, x, room, lifted=number % 2 == 1)
    return image(body, height=TOP + HEIGHT + BELOW, says=says)


@dataclass(frozen=True, kw_only=True)
class _Scale:
    axis: ParallelAxis
    low: float
    high: float

    @classmethod
    def of(cls, axis: ParallelAxis, values: Sequence[Value]) -> "_Scale":
        if axis.choices:
            return cls(axis=axis, low=0.0, high=max(1.0, len(axis.choices) - 1.0))
        known = [cls(axis=axis, low=0.0, high=1.0).number(one) for one in values if isinstance(one, int | float)]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        return cls(axis=axis, low=low, high=high) if high > low else cls(axis=axis, low=low - 1, high=high + 1)

    def number(self, value: float) -> float:
        return math.log10(value) if self.axis.logarithmic else float(value)

    def y(self, value: float | str) -> float:
        """Where a value is, from the top."""
        at = float(self.axis.choices.index(value)) if isinstance(value, str) else self.number(value)
        share = 0.5 if len(self.axis.choices) == 1 else (at - self.low) / (self.high - self.low)
        return TOP + HEIGHT * (1 - share)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(from the top, text)"""
        if self.axis.choices:
            return [(self.y(one), one) for one in self.axis.choices]
        if self.axis.logarithmic:
            steps = round_powers(self.low, self.high, TICKS)
        else:
            steps = round_steps(self.low, self.high, TICKS, whole=self.axis.whole)
        return [(self.y(one), number_text(one)) for one in steps]


def _places(scales: Sequence[_Scale]) -> list[float]:
    """Where the axes are, from the left: the texts of the last one are within the picture."""
    last = max((text_width(text) for _, text in scales[-1].ticks), default=0.0)
    right = WIDTH - min(last, WIDTH / 4) - BETWEEN - 2
    step = (right - 6) / max(1, len(scales) - 1)
    return [6 + step * number for number in range(len(scales))]


def _line(line: ParallelLine, scales: Sequence[_Scale], xs: Sequence[float]) -> Iterator[Markup]:
    points = [(x, scale.y(value)) for x, scale, value in zip(xs, scales, line.values, strict=True) if value is not None]
    if len(points) < 2:
        return
    colour, width, opacity = KINDS[line.kind]
    yield element(
        '<path d="{d}" class="line {colour}" style="stroke-width:{width};opacity:{opacity}" '
        'stroke-dasharray="{dash}"><title>{tip}</title></path>',
        d=path(points), colour=colour, width=width, opacity=str(opacity), dash="4 3" if line.dashed else "none",
        tip=line.tip,
    )  # fmt: skip


def _axis(scale: _Scale, x: float, room: float, *, lifted: bool) -> Iterator[Markup]:
    """The axis with its texts to its right; names of neighbours are on two lines, so that they do not meet."""
    yield element('<path d="M{x} {top}V{bottom}" class="edge"/>', x=x, top=TOP, bottom=TOP + HEIGHT)
    for y, text in scale.ticks:
        yield element('<path d="M{left} {y}H{right}" class="edge"/>', left=x - 2, right=x + 2, y=y)
        yield text_at(x + BETWEEN, y + SIZE * 0.36, fitted(text, max(room, SIZE * 3)), kind="over")
    name = fitted(scale.axis.name, 2 * room)
    end = x + text_width(name) > WIDTH
    yield text_at(
        WIDTH if end else max(0.0, x - 4), TOP - (22 if lifted else 9), name, anchor="end" if end else "start",
        kind="axis",
    )  # fmt: skip
