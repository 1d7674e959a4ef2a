"""What a chart draws: lines, dots, bars, intervals; each with a name for the legend."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from finetune.analysis.pages.svg import element, path, text_at

NOTHING = Markup()
Coordinates = tuple[float, float]
Placement = Callable[[float, float], Coordinates]  # from values to units
SHAPES = {
    "circle": "M-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
    "square": "M-{r} -{r}h{d}v{d}h-{d}z",
    "diamond": "M0 -{d}L{d} 0L0 {d}L-{d} 0z",
    "left": "M{r} -{r}L-{d} 0L{r} {r}z",
    "right": "M-{r} -{r}L{d} 0L-{r} {r}z",
    "cross": "M-{r} -{r}L{r} {r}M{r} -{r}L-{r} {r}",
}
RIGHT, BELOW = 5, 4  # units from a point to its text
MARKERS = ("circle", "square", "diamond", "right", "left")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A drawing in the coordinates of a chart; `name` is its line of the legend, where it has the picture `key`."""

    draw: Callable[[Placement], Sequence[Markup]]
    xs: Sequence[float]
    ys: Sequence[float]
    name: str = ""
    key: Markup = NOTHING


def line(
    points: Sequence[Coordinates],
    *,
    colour: str = "s1",
    dash: str = "",
    name: str = "",
    marker: str = "",
    tips: bool = False,
) -> Mark:
    """A line through points, with a marker at each; `tips`: their values are shown under the pointer."""
    stroke = '<path d="{d}" class="line {colour}" stroke-dasharray="{dash}"/>'

    def draw(place: Placement) -> list[Markup]:
        placed = [place(*point) for point in points]
        body = [element(stroke, d=path(placed), colour=colour, dash=dash or "none")]
        shown = [f"{x:.4g}: {y:.4g}" if tips else "" for x, y in points]
        return body + [_marker(*at, marker, colour, tip) for at, tip in zip(placed, shown, strict=True) if marker]

    key = element(stroke, d=path([(0, 0), (22, 0)]), colour=colour, dash=dash or "none")
    return _mark(draw, points, name, key + (_marker(11, 0, marker, colour) if marker else NOTHING))


def level(y: float, x: Coordinates, *, dash: str = "6 3", name: str = "") -> Mark:
    """A horizontal line at a value, such as a baseline's."""
    return line([(x[0], y), (x[1], y)], colour="quiet", dash=dash, name=name)


def dots(
    points: Sequence[Coordinates], *, colour: str = "s1", shape: str = "circle", name: str = "", radius: float = 3.2,
    faint: bool = False, tips: Sequence[str] = (),
) -> Mark:  # fmt: skip
    """A marker at each point; `tips` are shown under the pointer."""
    kind = f"{colour} faint" if faint else colour

    def draw(place: Placement) -> list[Markup]:
        said = tips or [""] * len(points)
        return [_marker(*place(*point), shape, kind, tip, radius) for point, tip in zip(points, said, strict=True)]

    return _mark(draw, points, name, _marker(11, 0, shape, colour))


def bars(boxes: Sequence[tuple[float, float, float, float]], *, colour: str = "s1", name: str = "") -> Mark:
    """Filled rectangles from (x, y) to (x, y)."""
    shape = '<rect x="{x}" y="{y}" width="{width}" height="{height}" class="bar {colour}"/>'

    def draw(place: Placement) -> list[Markup]:
        found = []
        for x0, y0, x1, y1 in boxes:
            (a, b), (c, d) = place(x0, y0), place(x1, y1)
            sizes = {"x": min(a, c), "y": min(b, d), "width": abs(c - a), "height": abs(d - b)}
            found.append(element(shape, colour=colour, **sizes))
        return found

    corners = [point for x0, y0, x1, y1 in boxes for point in ((x0, y0), (x1, y1))]
    return _mark(draw, corners, name, element(shape, colour=colour, x=2, y=-5, width=16, height=10))


def intervals(ends: Sequence[tuple[Coordinates, Coordinates]], *, colour: str = "s1", name: str = "") -> Mark:
    """A line from one point to another, as an interval has; vertical or horizontal, with short ends."""

    def draw(place: Placement) -> list[Markup]:
        return [_interval(place(*low), place(*high), colour) for low, high in ends]

    key = _interval((2, 0), (20, 0), colour)
    return _mark(draw, [point for pair in ends for point in pair], name, key)


def words(points: Sequence[Coordinates], texts: Sequence[str]) -> Mark:
    """A text to the right of each point."""

    def draw(place: Placement) -> list[Markup]:
        placed = [place(*point) for point in points]
        return [text_at(x + RIGHT, y + BELOW, text) for (x, y), text in zip(placed, texts, strict=True)]

    return _mark(draw, points, "", NOTHING)


def _mark(draw: Callable[[Placement], Sequence[Markup]], points: Sequence[Coordinates], name: str, key: Markup) -> Mark:
    return Mark(draw=draw, xs=[x for x, _ in points], ys=[y for _, y in points], name=name, key=key)


def _marker(x: float, y: float, shape: str, colour: str, tip: str = "", radius: float = 3.2) -> Markup:
    outline = SHAPES[shape].format(r=f"{radius:g}", d=f"{(2 if shape in ('circle', 'square') else 1.3) * radius:g}")
    said = element("<title>{tip}</title>", tip=tip) if tip else NOTHING
    kind = "line" if shape == "cross" else "dot"
    return element(
        '<path transform="translate({x} {y})" d="{d}" class="{kind} {colour}">{said}</path>',
        x=float(x), y=float(y), d=outline, kind=kind, colour=colour, said=said,
    )  # fmt: skip


def _interval(low: Coordinates, high: Coordinates, colour: str) -> Markup:
    (a, b), (c, d) = low, high
    across = (0, 4) if abs(c - a) > abs(d - b) else (4, 0)
    ends = [[(x - across[0], y - across[1]), (x + across[0], y + across[1])] for x, y in (low, high)]
    drawn = path([low, high]) + path(ends[0]) + path(ends[1])
    return element('<path d="{d}" class="line {colour}"/>', d=drawn, colour=colour)
