"""The scheme in which a column writes its tags, such as BMES or IOB1, and predictions in that scheme."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from finetune.data.formats.tag_forms import INNER, PREFIX, SUFFIX
from finetune.data.values import is_missing, tags_of
from finetune.metrics.entities import chunks
from finetune.task_types.columns import Layout

ROWS_LOOKED_AT = 1_000
IOB2 = {"letters": "BIIB", "sign": "-"}  # of the first, inner and last word, and of an entity of one word


def scheme_of(layout: Layout, cells: Iterable[Any]) -> dict[str, str]:
    """The letters of a scheme in the cells of a column of tags, and the sign between letter and type."""
    raw = [tags_of(cell) for cell in islice((cell for cell in cells if not is_missing(cell)), ROWS_LOOKED_AT)]
    pattern, place = (SUFFIX, 2) if layout.tag_form == "suffix" else (PREFIX, 1)
    found = [match for tags in raw for tag in tags if (match := pattern.fullmatch(tag))]
    letters = {match[place].upper() for match in found}
    if layout.tag_form == "untyped":
        letters = {tag.upper() for tags in raw for tag in tags if tag != layout.outside}
    sign = found[0][0][1 if place == 1 else -2] if found else "-"
    last, alone = ("L", "U") if letters & {*"LU"} else ("E", "W" if "W" in letters else "S")
    last, alone = (last, alone) if letters & {*"LUESW"} else ("I", "B")
    inner = "M" if "M" in letters else "I"
    plain = [layout.tags(tags) for tags in raw]
    begins = [tags[start][0] for tags in plain for _, start, _ in chunks(tags)]
    first = "I" if letters <= {"B", "I"} and begins.count("I") > begins.count("B") else "B"
    return {"letters": first + inner + last + (alone if first == "B" else "I"), "sign": sign}


def in_scheme(tags: Sequence[str], layout: Layout) -> list[str]:
    """Tags in IOB2 as the column of the layout writes them."""
    scheme: Mapping[str, str] = layout.file.get("tags", IOB2)
    if layout.names or layout.tag_form == "plain" or (scheme == IOB2 and layout.tag_form == "prefix"):
        return list(tags)
    first, inner, last, alone = list(f"{scheme.get('letters')}BIIB"[:4])
    new, before = [layout.outside] * len(tags), ("", 0)
    for kind, start, end in chunks(tags):
        begin = "B" if first == "I" and before == (kind, start) else first
        letters = [begin if first == "I" else alone] if end - start == 1 else [begin, *inner * (end - start - 2), last]
        new[start:end] = [_tag(letter, kind, layout, str(scheme.get("sign", "-"))) for letter in letters]
        before = kind, end
    return new


def _tag(letter: str, kind: str, layout: Layout, sign: str) -> str:
    if layout.tag_form == "begun" and letter in INNER:
        return letter
    if layout.tag_form in ("bare", "untyped"):
        return kind if layout.tag_form == "bare" else letter
    return f"{kind}{sign}{letter}" if layout.tag_form == "suffix" else f"{letter}{sign}{kind}"
