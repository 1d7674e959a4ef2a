"""Boxes, arrows and texts of the diagrams: SVG that is read on light and dark pages."""

from dataclasses import dataclass
from html import escape

from heads_charts import COLOURS

STYLE = """
text { fill: var(--ink); text-anchor: middle; }
text { font: 15px system-ui, "Noto Sans", "Noto Sans KR", "NanumGothic", sans-serif; }
.quiet { fill: var(--quiet); font-size: 13px; }
.name { font-weight: 600; }
.token { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, "NanumGothicCoding", monospace; }
rect { fill: var(--surface); stroke: var(--quiet); stroke-width: 1.2; }
.ground { stroke: none; }
.s1 { stroke: var(--series1); stroke-width: 2; } .s2 { stroke: var(--series2); stroke-width: 2; }
.s3 { stroke: var(--series3); stroke-width: 2; }
path { fill: none; stroke: var(--quiet); stroke-width: 1.5; marker-end: url(#end); }
path.s1 { stroke: var(--series1); } path.s2 { stroke: var(--series2); }
path.back { stroke-dasharray: 5 4; }
#end path { fill: var(--quiet); stroke: none; marker-end: none; }
"""
SIZE = 'markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse"'
END = f'<marker id="end" viewBox="0 0 8 8" refX="7" refY="4" {SIZE} orient="auto">'
LINE = 19  # pixels from a line of text to the next


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle around lines of text; the first is its name, the others explain it."""

    x: float  # of the middle
    y: float  # of the top
    width: float
    lines: tuple[str, ...]
    kind: str = ""

    @property
    def high(self) -> float:
        """Pixels from top to bottom."""
        return LINE * len(self.lines) + 13

    @property
    def bottom(self) -> float:
        """Where an arrow leaves it downwards."""
        return self.y + self.high

    def drawn(self) -> str:
        """Its SVG."""
        place = f'x="{self.x - self.width / 2:g}" y="{self.y:g}" width="{self.width:g}" height="{self.high:g}"'
        top = self.y + (self.high - LINE * len(self.lines)) / 2 + 14
        rows = [
            words(line, x=self.x, y=top + LINE * at, kind="name" if at == 0 else "quiet")
            for at, line in enumerate(self.lines)
        ]
        return f'<rect class="{self.kind}" rx="6" {place}/>' + "".join(rows)


def words(text: str, *, x: float, y: float, kind: str = "") -> str:
    """A line of text around `x`, on the base line `y`."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def arrow(*points: tuple[float, float], kind: str = "") -> str:
    """An arrow along points."""
    way = " L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path class="{kind}" d="M{way}"/>'


def picture(parts: list[str], *, width: int, height: int, says: str) -> str:
    """A file of SVG; `says` is its text for those who do not see it."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    ground = f'<rect class="ground" width="{width}" height="{height}" rx="8"/>'
    marker = f'<defs>{END}<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
    lines = [
        head,
        f"<title>{escape(says)}</title>",
        f"<style>{COLOURS}{STYLE}</style>",
        marker,
        ground,
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
