"""Sentences of the program in the reader's language, where they are shown; what is read by machines stays English.

A file such as `ko/report.toml` has a line for each English sentence: `"{count} rows" = "행 {count}개"`. A sentence with
values is recognised by what is around them: so the library, records and errors say it in English, and only what shows
it looks for another language. In the English one

- `{name}` is a value, which stays as it is: a label, a column, a number;
- `{*name}` is a part that has a sentence of its own;
- `(s)` is the end of a plural, there or not.

The Korean one has the same values, in any order.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from finetune.languages.chosen import ENGLISH, FOLDER, chosen_language

Part = Literal["help", "errors", "diagnosis", "report"]
VALUE = re.compile(r"\{(\*?)(\w+)\}|(\(s\))")
ENDS = re.compile(r"(?<=[.?!]) |(?<=;) ")  # between sentences, or halves of one
MOST_CHARS = 4_000  # of a text that is looked up: longer ones are data


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A sentence with values: `says` is the other language's; `nested` are values that are looked up themselves."""

    english: re.Pattern[str]
    says: str
    nested: frozenset[str]


class Sentences:
    """What a part of the program says in another language, by what it says in English."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self.exact = {text: says for text, says in lines.items() if not VALUE.search(text)}
        found = [_pattern(text, says) for text, says in lines.items() if text not in self.exact]
        self.patterns = sorted(found, key=lambda one: -len(one.english.pattern))  # the most that is fixed first

    def of(self, text: str) -> str:
        """The text in the other language: as a whole, else sentence by sentence; what is not known stays as it is."""
        if not text or len(text) > MOST_CHARS:
            return text
        if (known := self._known(text)) is not None:
            return known
        pieces, done = ENDS.split(text), list[str]()
        while pieces:
            for end in range(len(pieces), 0, -1):
                known = self._known(" ".join(pieces[:end]))
                if known is not None or end == 1:
                    done.append(pieces[0] if known is None else known)
                    pieces = pieces[end:]
                    break
        return " ".join(done)

    def _known(self, text: str) -> str | None:
        """As it is, or without the sign at its end, or without the capital at its start."""
        for one in (text, text[:1].lower() + text[1:]):
            if (found := self.whole(one)) is not None:
                return found
            if one[-1:] in ".;:," and (found := self.whole(one[:-1])) is not None:
                return found + one[-1]
        return None

    def whole(self, text: str) -> str | None:
        """What a text as a whole is in the other language; None where it has no sentence."""
        if text in self.exact:
            return self.exact[text]
        for one in self.patterns:
            if found := one.english.fullmatch(text):
                values = {
                    name: self.of(value) if name in one.nested else value for name, value in found.groupdict().items()
                }
                return VALUE.sub(lambda place: values[place[2]], one.says)  # noqa: B023  # called at once
        return None


def translated(text: str, part: Part) -> str:
    """The text in the reader's language. Raises UserError where `FINETUNE_LANG` names none that is known."""
    language = chosen_language()
    return text if language == ENGLISH else sentences_of(language, part).of(text)


@cache
def sentences_of(language: str, part: Part) -> Sentences:
    """The sentences of a language that is not English."""
    file = FOLDER / language / f"{part}.toml"
    return Sentences(tomllib.loads(file.read_text(encoding="utf-8")))


def _pattern(text: str, says: str) -> Pattern:
    expression, end, nested = "", 0, set[str]()
    for found in VALUE.finditer(text):
        expression += re.escape(text[end : found.start()])
        expression += "s?" if found[3] else f"(?P<{found[2]}>.+?)"
        if found[1]:
            nested.add(found[2])
        end = found.end()
    return Pattern(
        english=re.compile(expression + re.escape(text[end:]), re.DOTALL), says=says, nested=frozenset(nested)
    )
