"""Classifies a column by its name: a text, a label, an id, or a fact about the row (a date, a source, a count).

Names are split into words at signs, capitals and digits, so that `customer_sentiment` and `ToxicityLabel` are labels;
words of scripts without spaces are searched for anywhere in the name.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from finetune.data.words.lists import word_list

WORD = re.compile(r"[^\W\d_]+|\d+")
LATIN_ACCENT = re.compile("([A-Za-z])[\u0300-\u036f]+")
CAPITAL = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])|(?<=[A-Z])(?=[A-Z][a-z])")
NUMBERED_COLUMN = re.compile(r"column \d+")  # of a file without a header
NO_SPACES = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]")

OTHER_ANNOTATOR = re.compile(r".+ \(annotator \d+\)")
SPLIT = re.compile(r"train(ing)?|dev(elopment)?|val(id(ation)?)?|test(ing)?|eval(uation)?|holdout")

EXACT, COMPOUND = 1, 2


def name_words_of(name: str) -> list[str]:
    """The words of a column's name in lower case: `CustomerSentiment_2` is customer, sentiment, 2."""
    return [_plain(word) for word in WORD.findall(CAPITAL.sub(" ", _bare(name)).replace("_", " "))]


def _bare(name: str) -> str:
    """A name without accents on Latin letters."""
    apart = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFC", LATIN_ACCENT.sub(r"\1", apart))


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return _bare(name).lower()


def place_of(name: str, listed: Sequence[str]) -> tuple[int, int] | None:
    """(EXACT or COMPOUND, index in `listed`) of the first known word that the name equals, or contains; else None."""
    whole = _plain(name).strip().replace(" ", "_").replace("-", "_")
    words = set(name_words_of(name))
    plain = [_plain(word) for word in listed]
    if whole in plain:
        return EXACT, plain.index(whole)
    for place, word in enumerate(plain):
        if word in words or (NO_SPACES.search(word) and len(word) > 1 and word in whole):
            return COMPOUND, place
    return None


def label_tier(name: str) -> int | None:
    """How clearly a name means label: 0 `label`, 1 `gold_label_2`, 2 `sentiment`, 3 `customer_sentiment`, 4 `correct`;
    else None.
    """
    if is_about(name):
        return None
    labels = word_list("label")
    strong, other = place_of(name, labels), place_of(name, word_list("label_subject"))
    if strong and (strong[0] == EXACT or labels[strong[1]] not in word_list("label_alone")):
        return 0 if strong[0] == EXACT else 1
    if other is None and strong:
        other = strong
    if other is None:
        return 4 if place_of(name, word_list("label_weak")) else None
    return 2 if other[0] == EXACT else 3


def text_tier(name: str) -> int | None:
    """How clearly a name means text: 0 `text`, 1 `review_text`, 2 `title`, 3 `product_title`; else None."""
    if is_about(name) or is_id_name(name):
        return None
    strong, weak = place_of(name, word_list("text")), place_of(name, word_list("text_weak"))
    if strong:
        return 0 if strong[0] == EXACT else 1
    return None if weak is None else 2 if weak[0] == EXACT else 3


def id_names() -> tuple[str, ...]:
    """The names of id columns, those first that are most often the row's own."""
    return (*word_list("id"), *word_list("id_seldom"))


def is_id_name(name: str) -> bool:
    """Whether a name means an id, or ends like one: `id`, `tweet_id`, `ProductId`."""
    words = name_words_of(name)
    return name.strip().lower() in id_names() or (bool(words) and words[-1] in word_list("id_ending"))


def is_about(name: str) -> bool:
    """Whether the name is metadata of the row or its label, such as `created_at` or `label_confidence`."""
    if is_other_annotator(name):
        return True
    words, about = name_words_of(name), word_list("about")
    return name.strip().lower() in about or (bool(words) and words[-1] in about) or words[:2] == ["annotation", "id"]


def names_annotator(name: str) -> bool:
    """Whether a name says who gave a label, or whose labels a column holds: `annotator`, `rater_2`."""
    return not {*name_words_of(name)}.isdisjoint(word_list("annotator"))


def is_other_annotator(name: str) -> bool:
    """Whether a column holds labels of further annotators, as exports of labelling tools are read."""
    return OTHER_ANNOTATOR.fullmatch(name) is not None


def is_split_name(name: str) -> bool:
    """Whether the name of a flag tells the split: `train`, `is_test`."""
    words = [word for word in name_words_of(name) if word not in word_list("flag")]
    return len(words) == 1 and SPLIT.fullmatch(words[0]) is not None


def asks(name: str) -> bool:
    """Whether a name asks for yes or no: `is_member`, `hasImage`, 회원여부."""
    words = name_words_of(name)[:1]
    return any(flag in words or (NO_SPACES.search(flag) and flag in name) for flag in word_list("flag"))


def named(names: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """The names that are wanted, ignoring case, in the order of `wanted`."""
    lower: Mapping[str, str] = {name.lower().replace(" ", "_"): name for name in names}
    return [lower[name] for name in wanted if name in lower]


def stem_of(name: str) -> str:
    """A name without the number or letter at its end: `sol` of sol1, `op` of opa; empty without either."""
    return "" if (numbered := _numbered(name)) is None else numbered[0]


def numbered_groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Names that differ in a number or letter alone, in its order, by their stem: `sol` has sol1 and sol2."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(stem_of(name), []).append(name)
    return {stem: numbered_order(group) for stem, group in groups.items() if stem and len(group) > 1}


def numbered_order(names: Iterable[str]) -> list[str]:
    """Columns that are numbered, or have letters, by these: answer10 after answer2; unchanged where one has neither."""
    listed = list(names)
    places = {name: _numbered(name) or (("", _letter(name)) if len(name) == 1 else None) for name in listed}
    if None in places.values() or len({stem for stem, _ in filter(None, places.values())}) > 1:
        return listed
    return sorted(listed, key=lambda name: (places[name] or ("", 0))[1])


def first_number(names: Sequence[str]) -> int | None:
    """The number of the first of columns that are numbered from 0 or from 1 without a gap; None for others."""
    places = [numbered[1] for name in names if (numbered := _numbered(name))]
    ways = (first for first in (0, 1) if places == list(range(first, first + len(names))))
    return next(ways, None) if places else None


@cache
def _with_number() -> re.Pattern[str]:
    """What a name begins with, and the number or letter at its end."""
    stems = "|".join(("op", *word_list("choice_stem")))
    return re.compile(
        r"(.*?[^\d_ .-])[_ .-]?(\d{1,2})|(.{2,}?)[_ .-]([a-hA-H])|(.*[^\x00-\u02ff])([a-hA-H])"
        rf"|((?i:{stems}))([a-hA-H])"
    )


def _numbered(name: str) -> tuple[str, int] | None:
    """The stem and the place of `sol1`, `choice_b` or `opa`; None for another name, and in a file without names."""
    match = None if NUMBERED_COLUMN.fullmatch(name) else _with_number().fullmatch(name)
    if match is None:
        return None
    stem, place = (part for part in match.groups() if part)
    return stem.lower(), int(place) if place.isdigit() else _letter(place)


def _letter(name: str) -> int:
    return ord(name.lower())
