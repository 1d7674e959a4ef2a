"""The diagrams of the documents in each language: an encoder, its two outputs and the heads; the life of a run."""

import tomllib
from itertools import pairwise
from pathlib import Path

from drawing import Box, arrow, picture, words

TOKENS = ("[CLS]", "the", "shop", "##keeper", "left", "[SEP]")
WORDS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "diagram_words.toml").read_text(encoding="utf-8")
)


def diagrams() -> dict[str, str]:
    """Files of SVG by name; those of Korean pages end with `.ko.svg`."""
    drawers = {"encoder": encoder, "run-life": run_life}
    ends = {"en": "svg", "ko": "ko.svg"}
    return {f"{name}.{ends[to]}": draw(WORDS[to]) for name, draw in drawers.items() for to in WORDS}


def encoder(says: dict[str, str]) -> str:
    """From tokens up to the two outputs and the four heads that read them."""
    places = [185 + 106 * at for at in range(len(TOKENS))]
    pooled = Box(x=240, y=122, width=280, lines=(says["pooled"], says["one"]), kind="s1")
    sequence = Box(x=450, y=216, width=700, lines=(says["sequence"], says["each"]), kind="s2")
    layers = Box(x=450, y=308, width=700, lines=(says["layers"], says["layer"]))
    embeddings = Box(x=450, y=400, width=700, lines=(says["embeddings"], says["sum"]))
    heads = [
        Box(x=x, y=28, width=160, lines=(says[name], says[f"{name}-of"]), kind=kind)
        for name, x, kind in (("labels", 180, "s1"), ("choice", 355, "s1"), ("tags", 545, "s2"), ("span", 720, "s2"))
    ]
    read = [(heads[0], pooled), (heads[1], pooled), (heads[2], sequence), (heads[3], sequence)]
    arrows = [arrow((head.x, box.y), (head.x, head.bottom), kind=box.kind) for head, box in read]
    arrows.append(arrow((places[0], sequence.y), (places[0], pooled.bottom), kind="s1"))
    for x in places:
        arrows += [arrow((x, a), (x, b)) for a, b in _upwards(486, embeddings, layers, sequence)]
    tokens = [
        f'<rect x="{x - 47:g}" y="486" width="94" height="30" rx="4"/>' + words(token, x=x, y=506, kind="token")
        for x, token in zip(places, TOKENS, strict=True)
    ]
    boxes = [box.drawn() for box in (*heads, pooled, sequence, layers, embeddings)]
    below = words(says["text"], x=450, y=540, kind="quiet")
    return picture([*arrows, *boxes, *tokens, below], width=900, height=560, says=says["encoder"])


def _upwards(start: float, *boxes: Box) -> list[tuple[float, float]]:
    """Where arrows begin and end that go up from `start` through boxes."""
    return [(below, box.bottom) for below, box in zip((start, *(box.y for box in boxes)), boxes, strict=False)]


def run_life(says: dict[str, str]) -> str:
    """A row before training, the loop over epochs with its checkpoint, and a row after it, from right to left."""
    source = Box(x=120, y=20, width=204, lines=(says["file"], says["recipe"]))
    before = _row(says, ("read", "check", "split", "encode"), places=(120, 340, 560, 780), y=112)
    train, dev = _row(says, ("train", "dev"), places=(780, 560), y=226, kind="s1")
    (checkpoint,) = _row(says, ("checkpoint",), places=(225,), y=226)
    after = _row(says, ("best", "predict", "record"), places=(560, 340, 120), y=352, kind="s3")
    middle, below = dev.y + dev.high / 2, dev.bottom + 24
    arrows = [
        arrow((source.x, source.bottom), (source.x, before[0].y)),
        arrow((train.x, before[-1].bottom), (train.x, train.y)),
        *_between(before, by=1), *_between([train, dev], by=-1), *_between(after, by=-1),
        arrow((600, dev.bottom), (600, below), (train.x, below), (train.x, train.bottom), kind="s1"),
        arrow((520, dev.bottom), (520, after[0].y)),
        arrow((dev.x - dev.width / 2, middle - 9), (checkpoint.x + 102, middle - 9)),
        arrow((checkpoint.x + 102, middle + 9), (dev.x - dev.width / 2, middle + 9), kind="back"),
    ]  # fmt: skip
    notes = [
        words(says["again"], x=690, y=below + 18, kind="quiet"),
        words(says["resume"], x=checkpoint.x, y=checkpoint.bottom + 20, kind="quiet"),
        words(says["done"], x=140, y=after[-1].bottom + 22, kind="quiet"),
    ]
    boxes = [box.drawn() for box in (source, *before, train, dev, checkpoint, *after)]
    return picture([*arrows, *boxes, *notes], width=900, height=440, says=says["run"])


def _row(
    says: dict[str, str], names: tuple[str, ...], *, places: tuple[int, ...], y: float, kind: str = ""
) -> list[Box]:
    return [
        Box(x=x, y=y, width=204, lines=(says[name], says[f"{name}-of"]), kind=kind)
        for name, x in zip(names, places, strict=True)
    ]


def _between(row: list[Box], *, by: int) -> list[str]:
    """Arrows from each box to the next one of a row, which goes to the right (1) or to the left (-1)."""
    return [
        arrow((one.x + by * one.width / 2, one.y + one.high / 2), (two.x - by * two.width / 2, two.y + two.high / 2))
        for one, two in pairwise(row)
    ]
