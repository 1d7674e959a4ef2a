"""How tags are written (`B-PER`, `PER_B`, `PER`, `B`, or `B-PER` and `I`) and what marks a word in no entity;
converts all to `B-PER`.

Tags of each word by itself, such as parts of speech, are `plain` and stay as they are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

FormOfTags = Literal["prefix", "suffix", "begun", "bare", "untyped", "plain"]
PREFIX = re.compile(r"([BIESLUMW])[-_](\S.*)", re.IGNORECASE)
SUFFIX = re.compile(r"(\S.*)[-_]([BIESLUMW])", re.IGNORECASE)
FORMS: dict[FormOfTags, re.Pattern[str]] = {"prefix": PREFIX, "suffix": SUFFIX}
OUTSIDE = ("O", "o", "OTHER", "Other", "other", "OUT")
SIGNS = ("-", "_", "0")  # also mark a word in no entity, where the other tags have a B or I
CHUNKS = frozenset({"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP"})
UNTYPED = "entity"  # the type of tags that name none
MOST_TYPES = 60
MOST_DIFFERENT = 0.3  # share of the words
MOST_OF_TAGS = 0.98
LETTERS = "BIESLUMW"
INNER = "IMEL"  # letters of words that continue an entity
SAME = {"M": "I", "W": "S"}  # letters of other schemes


@dataclass(frozen=True, kw_only=True)
class TagForm:
    """How a column writes its tags: `outside` marks a word in no entity."""

    form: FormOfTags = "prefix"
    outside: str = "O"

    def standard(self, tag: str) -> str:
        """A tag as `O` or `B-PER`; one of another form is returned unchanged."""
        if self.form == "plain":
            return tag
        if tag == self.outside:
            return "O"
        if self.form == "untyped" and _is_of(tag, LETTERS):
            tag = f"{tag}-{UNTYPED}"
        elif self.form == "suffix" and (match := SUFFIX.fullmatch(tag)):
            tag = f"{match[2]}-{match[1]}"
        if match := PREFIX.fullmatch(tag):
            return f"{_letter(match[1])}-{match[2]}"
        return f"I-{tag}" if self.form == "bare" else tag

    def standards(self, tags: Iterable[str]) -> Iterator[str]:
        """The tags of a sentence as `O` or `B-PER`: in the form `begun` an `I` has the type of the tag before it."""
        kind = ""
        for tag in map(self.standard, tags):
            alone = self.form == "begun" and kind and _is_of(tag, INNER)
            yield (full := f"{_letter(tag)}-{kind}" if alone else tag)
            kind = full[2:]


def _is_of(tag: str, letters: str) -> bool:
    return len(tag) == 1 and tag.upper() in letters


def _letter(letter: str) -> str:
    return SAME.get(letter.upper(), letter.upper())


def form_of(tags: Counter[str]) -> TagForm | None:
    """The form of a column's tags; None where they are not tags of entities."""
    if set(tags) == {"O"}:
        return TagForm()  # of words in no entity
    for outside in (*OUTSIDE, *SIGNS):
        rest = Counter({tag: count for tag, count in tags.items() if tag != outside})
        if not tags[outside] or not rest:
            continue
        if all(_is_of(tag, "BIESLUM") for tag in rest) and "B" in map(str.upper, rest):
            return TagForm(form="untyped", outside=outside)
        begins = [PREFIX.fullmatch(tag) for tag in rest if not _is_of(tag, INNER)]
        if len(begins) < len(rest) and all(match and not _is_of(match[1], INNER) for match in begins):
            return TagForm(form="begun", outside=outside)
        for form, pattern in FORMS.items():
            if sum(rest[tag] for tag in rest if pattern.fullmatch(tag)) >= MOST_OF_TAGS * rest.total():
                return TagForm(form=form, outside=outside)
        if outside in OUTSIDE and tags[outside] > 0.5 * tags.total() and _are_types(rest):
            return TagForm(form="bare", outside=outside)
    typed = [tag for tag in tags if PREFIX.fullmatch(tag)]
    if tags["O"] and typed and sum(tags[tag] for tag in ("O", *typed)) >= 0.9 * tags.total():
        return TagForm()  # some tags are faulty
    return None


def plain_form(tags: Counter[str]) -> TagForm | None:
    """The form of tags that are none of entities, such as parts of speech; None where they are nearly all different."""
    if len(tags) < 2 or len(tags) > MOST_DIFFERENT * tags.total():
        return None
    if tags.most_common(1)[0][0] == "O":
        return TagForm(form="bare")
    return TagForm(form="plain")


def are_chunks(tags: Iterable[str]) -> bool:
    """Whether tags mark phrases (B-NP, I-VP) rather than entities."""
    types = {match[2] for tag in tags if (match := PREFIX.fullmatch(tag))}
    return "NP" in types and types <= CHUNKS


def _are_types(tags: Counter[str]) -> bool:
    """Whether tags are the names of a few types, each repeated."""
    names = all(re.fullmatch(r"[^\W\d_][\w.-]*", tag) for tag in tags)
    return names and len(tags) <= min(MOST_TYPES, max(2, tags.total() // 2))
