"""Formats that are recognised and not read, and how to convert each: `refused.toml` is the table of them."""

import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from finetune.data.open_files import FileStart
from finetune.data.paths import is_folder
from finetune.errors import UserError

INLINE = (  # how entities are marked within a text: the type, then the words
    r"<([A-Za-z][\w-]*)>(.*?)</\1>",
    r"\[([A-Z][\w-]+) ([^\[\]]+)\](?!\()",
    r"\[(?=[^\[\]]+\]\(([A-Za-z]\w*)\))([^\[\]]+)\]\(\w+\)",
)
HTML = frozenset({*"abipqsu", "big", "br", "code", "div", "em", "font", "li", "mark", "pre", "small", "span", "strong"})
WORD_TAG = re.compile(r"\S+[/_|](O|[BIESLU]-[\w-]+|[A-Z]{1,5}\$?)")
LINES_SEEN = 1_000
SHARE_OF_WORDS = 0.9  # that have tags
LEAST_BLOCKS, MOST_IN_BLOCK = 8, 5  # of lines with a label among them
Values = Mapping[str, str] | None  # for words of a message; None for a file of another format


def require_read(start: FileStart, *, by: Sequence[str] = ("name", "head")) -> None:
    """Raises UserError for a format that is recognised and not read: by the `name` of a file or folder, by the `head`
    of a file, or by the `lines` of a text without labels.
    """
    for which, refused in ((which, refused) for how in by for which, refused in _table()[how].items()):
        if which in RECOGNISED_BY:
            values: Values = RECOGNISED_BY[which](start)
        elif "next_to" in refused:
            values = _next_to(start, refused["next_to"])
        else:
            suits = not is_folder(start.path) and start.suffix in refused.get("suffixes", [start.suffix])
            values = {} if suits and re.match(refused["begins"].encode(), start.head) else None
        if values is not None:
            put = {"FILE": shlex.quote(str(start.path)), **values}
            name, way = (
                re.sub("|".join(put), lambda word: put[word[0]], " ".join(refused[text].split()))  # noqa: B023
                for text in ("name", "way")
            )
            raise UserError(f"{start.path}: is {name}, which is not read", way)


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads((files("finetune.data.formats") / "refused.toml").read_text(encoding="utf-8"))


def _next_to(start: FileStart, patterns: Mapping[str, Sequence[Sequence[str]]]) -> Values:
    """The file, or the first such file of a folder, and those that belong to it by their names."""
    for file in sorted(start.path.iterdir()) if is_folder(start.path) else [start.path]:
        for pattern, needed in patterns.items():
            if (match := re.fullmatch(pattern, file.name)) and file.is_file():
                named = [[file.with_name(match.expand(name)) for name in names] for names in needed]
                others = [next((path for path in paths if path.is_file() and path != file), None) for paths in named]
                if all(others):
                    return {"FILE": shlex.quote(str(file)), "OTHERS": shlex.join(map(str, others))}
    return None


def _marked(start: FileStart) -> Values:
    lines = start.lines[:LINES_SEEN]
    for pattern in INLINE:
        tags = [{tag for tag, _ in re.findall(pattern, line)} for line in lines]
        kinds = {tag for line in tags for tag in line}
        if len(kinds) < len(lines) / 2 < sum(map(bool, tags)) and HTML.isdisjoint(map(str.lower, kinds)):
            return {"KINDS": ", ".join(sorted(kinds)[:4]), "PATTERN": pattern}
    return None


def _tag_after_word(start: FileStart) -> Values:
    words = [word for line in start.lines[:LINES_SEEN] for word in line.split()]
    tagged = sum(map(bool, map(WORD_TAG.fullmatch, words)))
    return {"WORD": repr(words[0])} if tagged > SHARE_OF_WORDS * len(words) else None


def _blocks(start: FileStart) -> Values:
    """Lines of which every second, third ... is one of a few labels, and another one a text."""
    lines = [line.strip() for line in start.lines[:LINES_SEEN]]
    for size in range(2, MOST_IN_BLOCK + 1):
        parts = [lines[place::size] for place in range(size)] if len(lines) >= LEAST_BLOCKS * size else []
        few = [2 <= len({*part}) <= 0.1 * len(part) + 1 and len(max(part, key=len).split()) <= 3 for part in parts]
        if any(few) and any(len({*part}) > 0.5 * len(part) and " " in part[0] for part in parts):
            return {"SIZE": str(size), "LABEL": repr(parts[few.index(True)][0])}
    return None


RECOGNISED_BY: Mapping[str, Callable[[FileStart], Values]] = {
    "marked": _marked, "tag_after_word": _tag_after_word, "blocks": _blocks,
}  # fmt: skip
