"""Sentences of the program in the reader's language, where they are shown; what is read by machines stays English.

A file such as `ko/pages.toml` has a line for each English sentence: `"{count} rows" = "행 {count}개"`. A sentence with
values is recognised by what is around them: so the library, records and errors say it in English, and only what shows
it looks for another language. In the English one

- `{name}` is a value, which stays as it is: a label, a column, a number;
- `{#name}` is a number;
- `{*name}` is a part that has a sentence of its own;
- `{-name}` is a value that the Korean sentence leaves out, such as a long list that is above it in English;
- `(s)` is the end of a plural, there or not.

The Korean one has the same other values, in any order.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from finetune.languages.chosen import ENGLISH, FOLDER, chosen_language

Part = Literal["help", "errors", "diagnosis", "pages"]
VALUE = re.compile(r"\{([*#-]?)(\w+)\}|(\(s\))")
ENDS = re.compile(r"(?<=[.?!]) |(?<=;) ")  # between sentences, or halves of one
WITHIN = r"(?:(?![.?!;] ).)+?"  # of a value, which does not go beyond its sentence
ONE = {"": WITHIN, "*": WITHIN, "#": r"[+-]?\d(?:[\d.,+-]|e(?=[\d-]))*", "-": ".+?"}
LETTER = re.compile("[a-zA-Z]")
MOST_CHARS = 4_000  # of a text that is looked up: longer ones are data


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A sentence with values: `says` is the other language's; `nested` are values that are looked up themselves, and
    `fixed` the words around all of them, which are searched first, since that takes a hundredth of the time.
    """

    english: re.Pattern[str]
    fixed: tuple[str, ...]
    says: str
    nested: frozenset[str]


class Sentences:
    """What a part of the program says in another language, by what it says in English."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self.lines = lines
        self.exact = {text: says for text, says in lines.items() if not VALUE.search(text)}
        found = [(text, _pattern(text, says)) for text, says in lines.items() if text not in self.exact]
        found.sort(key=lambda one: (one[0][:2] != "{*", -len(VALUE.sub("", one[0]))))  # what is at an end; most fixed
        starts = {text[0] for text in lines}
        self.patterns = {start: [one for text, one in found if text[0] in ("{", start)] for start in {"{", *starts}}

    @lru_cache(maxsize=10_000)  # noqa: B019  # one object a file
    def of(self, text: str) -> str:
        """The text in the other language: as a whole, else sentence by sentence; what is not known stays as it is."""
        return " ".join(piece if known is None else known for piece, known in self._pieces(text))

    def known(self, text: str) -> str | None:
        """The text in the other language; None where not all of it is known."""
        found = [known for _, known in self._pieces(text)]
        return None if None in found else " ".join(filter(None, found))

    def _pieces(self, text: str) -> Iterator[tuple[str, str | None]]:
        """The largest parts of the text that are known, and the sentences between them."""
        pieces = ENDS.split(text) if len(text) <= MOST_CHARS else [text]
        while pieces:
            for end in range(len(pieces), 0, -1):
                piece = " ".join(pieces[:end])
                if (known := self._piece(piece)) is not None or end == 1:
                    yield piece, known
                    pieces = pieces[end:]
                    break

    def _piece(self, text: str) -> str | None:
        """As it is, or without the sign at its end, or without the capital at its start."""
        for one in dict.fromkeys((text, text[:1].lower() + text[1:])):
            if (found := self.whole(one)) is not None:
                return found
            if one[-1:] in ".;:," and (found := self.whole(one[:-1])) is not None:
                return found + ("." if one[-1] == ";" and found.endswith("다") else one[-1])
        return None

    def whole(self, text: str) -> str | None:
        """What a text as a whole is in the other language; None where it has no sentence."""
        if text in self.exact:
            return self.exact[text]
        for one in self.patterns.get(text[:1], self.patterns["{"]):
            if all(words in text for words in one.fixed) and (found := one.english.fullmatch(text)):
                values = {name: self._value(value, name in one.nested) for name, value in found.groupdict().items()}
                if None not in values.values():
                    return VALUE.sub(lambda place: str(values[place[2]]), one.says)  # noqa: B023  # called at once
        return None

    def _value(self, text: str, nested: bool) -> str | None:
        """A value as it is, a nested part in the other language; None where that is not known."""
        return self.known(text) if nested and LETTER.search(text) else text


def translated(text: str, part: Part) -> str:
    """The text in the reader's language. Raises UserError where `FINETUNE_LANG` names none that is known."""
    language = chosen_language()
    return text if language == ENGLISH else sentences_in(language, part).of(text)


def known_translation(text: str, part: Part) -> str | None:
    """The text in the reader's language; None where that is English, or where not all of it is known.

    Raises UserError as `translated` does.
    """
    language = chosen_language()
    return None if language == ENGLISH else sentences_in(language, part).known(text)


@cache
def sentences_in(language: str, part: Part) -> Sentences:
    """The sentences of a language that is not English."""
    file = FOLDER / language / f"{part}.toml"
    return Sentences(tomllib.loads(file.read_text(encoding="utf-8")))


def _pattern(text: str, says: str) -> Pattern:
    expression, fixed, nested, end = "", list[str](), set[str](), 0
    for found in VALUE.finditer(text):
        fixed.append(text[end : found.start()])
        expression += re.escape(fixed[-1])
        expression += "s?" if found[3] else f"(?P<{found[2]}>{ONE[found[1]]})"
        if found[1] == "*":
            nested.add(found[2])
        end = found.end()
    fixed.append(text[end:])
    expression += re.escape(fixed[-1]) or "(?<![.;])"
    return Pattern(english=re.compile(expression, re.DOTALL), fixed=tuple(fixed), says=says, nested=frozenset(nested))
