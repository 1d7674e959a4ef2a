"""Infers a column's type from its values: numbers, texts, categories, lists, ids, dates."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from typing import Any, Literal

from finetune.data.values import as_list, as_number, as_text, is_missing
from finetune.data.words.lists import pair_list, word_list

ColumnKind = Literal["empty", "object", "list", "number", "category", "text", "id"]
ARROWS = (">", "->")  # between the names of a label in a tree, and no words
CELLS_SEEN = 20_000  # values that a column's type is inferred from
CATEGORY_VALUES = 50  # most distinct values of a category, or a twentieth of its rows
NEARLY_ALL = 0.95
SPLITS = frozenset({"train", "training", "test", "testing", "dev", "val", "valid", "validation", "unassigned"})
NOTHING = frozenset({"nan", "NaN", "NaT", "<NA>"})  # as data frames write a missing label; it may be a text
DIFFERENT_WORDS = "a different word in each row"
SEPARATORS = ("|", ";", ",")  # between several labels in a cell
YEAR_OR_TIME = re.compile(r"(19|20)\d\d|\d:\d\d")
LONGEST_DATE, LONGEST_CLASS = 40, 12  # characters; the latter of names without spaces
HASH = re.compile(r"[0-9a-fA-F-]{16,}|\d{9,}")
UNSPACED = re.compile("[\u2e80-\u9fff\u0e00-\u0eff]")  # scripts without spaces between words
LETTERS = re.compile(r"[^\W\d_]+")
MONTHS = 30  # different words in a column of dates: months, days and what joins them
DATES = "dates"  # why a column of them is an id
LINK = re.compile(r"(https?://|www\.|ftp://)\S+|\S+@\S+\.\w+|[\w.~-]*(/[\w.~-]+)+\.\w{2,5}")
ZEROS = re.compile(r"[-+]?0\d+([.,]\d+)?")  # a code such as 007 or 008.45
RUINED = re.compile(r"[-+]?\d[.,]\d+E\+(1[1-9]|[2-9]\d)")  # an id of many digits that a spreadsheet has rounded
NumberReading = Literal["decimal", "thousands", "labels", "unclear", "plain"]
DIGITS = re.compile(r"[-+]?\d[\d.,]*")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
POINTS = re.compile(r"[-+]?\d{1,3}(\.\d{3})+(,\d*)?")  # between thousands
SMALL = re.compile(r"0|[1-9]\d{0,3}")  # a whole number without leading zeros
SURE = 0.95


def reading_of_commas(texts: Sequence[str]) -> NumberReading:
    """What the commas of a column mean, inferred from all cells; `plain` where it has none, or is not numeric.

    `thousands` implies that the point is the decimal sign. With `unclear` more than one reading fits.
    """
    cells = [text.strip() for text in texts if text.strip()]
    digits = [cell for cell in cells if DIGITS.fullmatch(cell.replace(" ", ""))]  # words have commas of their own
    commas, alone = [cell for cell in digits if "," in cell], [cell for cell in digits if "," not in cell]
    if not commas or len(digits) < SURE * len(cells):
        return "plain"
    parts = [[part.strip() for part in cell.split(",")] for cell in commas]
    share, several = len(commas) / len(digits), any(len(numbers) > 2 for numbers in parts)
    # Commas separate groups of three digits only, and no number of four digits or more lacks one.
    grouped = all(THOUSANDS.fullmatch(cell.partition(".")[0]) for cell in commas)
    grouped = grouped and all(len(cell.partition(".")[0].lstrip("-+")) <= 3 for cell in alone)
    # Parts are from one small set, which cells without a comma are from too; nearly all decimals have a comma.
    before, behind = {numbers[0] for numbers in parts}, [number for numbers in parts for number in numbers[1:]]
    recur = (
        len({*alone}) > 1 and sum(part in {*alone, *before} for part in behind) >= 0.8 * len(behind) and share <= 0.7
    )
    if several or any("." in cell and not POINTS.fullmatch(cell) for cell in digits):
        decimal = False
    elif any(re.search(r"\.\d{3},", cell) for cell in commas):
        decimal = True
    elif any(number.lstrip("-+") == "0" for number in before):
        decimal = not recur
    else:  # groups of 000 to 999 after the comma do not indicate decimals, unless nearly all cells have one
        decimal = share > 0.9 if grouped else share > 0.5 and not recur
    whole = all(map(SMALL.fullmatch, [*alone, *before, *behind]))
    different = all(len({*numbers}) == len(numbers) for numbers in parts)
    labels = whole and ((several and not grouped) or (recur and different))
    readings: dict[NumberReading, bool] = {"thousands": grouped, "decimal": decimal, "labels": labels}
    fitting = [reading for reading, fits in readings.items() if fits]
    return fitting[0] if len(fitting) == 1 else "unclear"


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A column's type and the statistics it was inferred from, over the cells that are not empty.

    `words` and `length` are mean numbers of words and characters. `marks` names the two values of a binary column (such
    as `0/1`). `counter`: whole numbers that rise from row to row. `unspaced`: of a script without spaces between words.
    `combined`: cells are made of parts that recur in other cells, as several labels do. `split`: cells name splits,
    such as train and test; `letters`: A, B, C and so on. `why` says what makes it an id.
    """

    name: str
    kind: ColumnKind
    filled: int
    share: float
    distinct: int
    words: float
    length: float = 0
    whole: bool = False
    marks: str = ""
    counter: bool = False
    unspaced: bool = False
    combined: bool = False
    split: bool = False
    letters: bool = False
    why: str = ""

    @property
    def unique(self) -> bool:
        """Whether no two rows have the same value."""
        return self.filled > 1 and self.distinct == self.filled


def marks() -> tuple[tuple[str, str], ...]:
    """The two values of a binary column, first the value for no."""
    return (("0", "1"), *pair_list("no_yes"))


@cache
def signs_of_no() -> frozenset[str]:
    """What cells of a binary column may hold for no, in lower case."""
    return frozenset({"", "f", "-", *(no for no, _ in marks())})


@cache
def signs_of_yes() -> frozenset[str]:
    """What cells of a binary column may hold for yes, in lower case."""
    return frozenset({"t", "x", "✓", *(yes for _, yes in marks())})


def facts_of(name: str, values: Sequence[Any], *, dates: bool = True) -> ColumnFacts:
    """Infers what a column holds; without `dates` short texts with a time or a year are texts."""
    filled = [value for value in islice(values, CELLS_SEEN) if not is_missing(value)]
    if not filled:
        return ColumnFacts(name=name, kind="empty", filled=0, share=0, distinct=0, words=0)
    facts: dict[str, Any] = {"name": name, "filled": len(filled), "share": len(filled) / min(len(values), CELLS_SEEN)}
    if sum(isinstance(value, dict) for value in filled) > 0.5 * len(filled):
        return ColumnFacts(**facts, kind="object", distinct=len(filled), words=0)
    if _mostly(lambda value: as_list(value) is not None, filled):
        return ColumnFacts(**facts, kind="list", distinct=len(filled), words=0)
    texts = [as_text(value).strip() for value in filled]
    facts["distinct"] = distinct = len(set(texts))
    facts["length"] = sum(map(len, texts)) / len(texts)
    signs = {text.lower() for text in texts}
    facts["split"] = signs <= SPLITS
    facts["letters"] = distinct > 2 and signs <= set("abcdef")
    facts["marks"] = next(("/".join(pair) for pair in marks() if signs == set(pair)), "")
    if (why := _identifies(texts)) and (dates or why != DATES):
        return ColumnFacts(**facts, kind="id", words=1, why=why)
    signed = ([number for sign in ".," if (number := as_number(value, decimal=sign)) is not None] for value in filled)
    numbers = [first for first, *_ in filter(None, signed)]
    if len(numbers) >= NEARLY_ALL * len(filled) and not _are_names(texts):
        whole = all(number.is_integer() for number in numbers)
        return ColumnFacts(**facts, kind="number", words=1, whole=whole, counter=whole and counts_up(numbers))
    arrows = sum(text.count(f" {arrow} ") for text in texts for arrow in ARROWS)
    words = (sum(len(text.split()) for text in texts) - arrows) / len(texts)
    unspaced, facts["combined"] = not _spaced(texts), _combines(texts)
    numbers_apart = facts["combined"] and reading_of_commas(texts) == "labels"
    few = numbers_apart or distinct <= max(2, min(CATEGORY_VALUES, 0.5 * len(filled))) or distinct <= 0.05 * len(filled)
    different = distinct > NEARLY_ALL * len(filled) and len(filled) > 4
    if different and words < 1.2 and not (few or facts["combined"] or unspaced):
        return ColumnFacts(**facts, kind="id", words=words, why=DIFFERENT_WORDS)
    long = unspaced and facts["length"] > LONGEST_CLASS
    kind: ColumnKind = "category" if few and words < 6 and not long else "text"
    return ColumnFacts(**facts, kind=kind, words=words, unspaced=unspaced)


def _mostly(holds: Any, cells: Sequence[Any]) -> bool:
    """Whether nearly all values satisfy `holds`; the first ones are tried before the rest, to save time."""
    first = cells[:20]
    if sum(bool(holds(value)) for value in first) < 0.5 * len(first):
        return False
    return sum(bool(holds(value)) for value in cells) >= NEARLY_ALL * len(cells)


def _are_names(texts: Sequence[str]) -> bool:
    """Whether numbers are names: a zero is before one, or few recur, of which one is written in two ways: 1.1, 1.10."""
    different = {*texts}
    few = len(different) <= min(CATEGORY_VALUES, 0.5 * len(texts))
    spelled = Counter(text.rstrip("0") for text in different if re.search(r"[.,]\d*[1-9]", text)) if few else {}
    return any(map(ZEROS.fullmatch, different)) or any(count > 1 for count in spelled.values())


def _identifies(texts: Sequence[str]) -> str:
    """Why a column of such texts is an id: dates, links, hashes, long numbers; empty where it is not."""
    kinds = {DATES: _date(), "links or addresses": LINK, "ids that a spreadsheet has rounded": RUINED}
    if why := next((why for why, pattern in kinds.items() if _mostly(pattern.fullmatch, texts)), ""):
        return why
    if _mostly(_is_written_date, texts):
        words = LETTERS.findall(" ".join(texts))
        return DATES if len(set(words)) <= min(MONTHS, len(words) / 3) else ""
    hashes = _mostly(HASH.fullmatch, texts) and len(set(texts)) > 0.1 * len(texts)
    return "hashes or long numbers" if hashes else ""


@cache
def _date() -> re.Pattern[str]:
    """A date in digits, with or without a time, or with the name of a month or day; or a time."""
    month, day, year = ("|".join(word_list(name)) for name in ("months", "weekdays", "after_year"))
    month = f"({month})[a-z]*"
    return re.compile(
        rf"(\d{{4}}[-./]\d{{1,2}}[-./]\d{{1,2}}|\d{{1,2}}[-./]\d{{1,2}}[-./](\d{{4}}|\d{{2}})|\d{{4}}({year}).*)"
        r"([ T]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([AaPp][Mm])?\s*(Z|UTC|GMT|[-+]\d{2}:?\d{2})?)?"
        rf"|({day})[a-z]*,? .*\d{{4}}.*|{month} \d{{1,2}},? \d{{4}}.*|\d{{1,2}} {month},? \d{{4}}.*"
        r"|\d{1,2}:\d{2}(:\d{2})?"
    )


def _is_written_date(text: str) -> bool:
    """Whether a short text has a year or a time, and another number: `5. März 2021`."""
    return len(text) <= LONGEST_DATE and YEAR_OR_TIME.search(text) is not None and len(re.findall(r"\d+", text)) > 1


def counts_up(numbers: Sequence[float]) -> bool:
    """Whether whole numbers rise (or fall) from row to row, as a running number or a sorted id does."""
    if len(numbers) < 4 or len(set(numbers)) < len(numbers):
        return False
    steps = [after > before for before, after in pairwise(numbers)]
    return all(steps) or not any(steps)


def _combines(texts: Sequence[str]) -> bool:
    """Whether cells are separated into parts, with fewer distinct parts than cells."""
    for separator in SEPARATORS:
        if sum(separator in text for text in texts) >= max(2, 0.05 * len(texts)):
            parts = {part.strip() for text in texts for part in text.split(separator)}
            if len(parts) < 0.7 * len(set(texts)) and all(len(part.split()) <= 4 for part in parts):
                return True
    return False


def _spaced(texts: Sequence[str]) -> bool:
    """Whether the texts are of a script that puts spaces between words."""
    letters = [char for text in texts[:200] for char in text[:1_000] if char.isalpha()]
    return not letters or sum(map(bool, map(UNSPACED.fullmatch, letters))) < 0.3 * len(letters)
