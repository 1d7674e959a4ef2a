"""What a comma or a point means in a column of digits: decimals (3,5), thousands (1,234), or two labels (4,27)."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

NumberReading = Literal["decimal", "thousands", "labels", "unclear", "plain"]
DIGITS = re.compile(r"[-+]?\d[\d.,]*")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
SURE = 0.95


def reading_of_commas(texts: Sequence[str]) -> NumberReading:
    """What the commas of a column mean, inferred from all cells; `plain` where it has none, or is not numeric.

    `thousands` implies that the point is the decimal sign. With `unclear` more than one reading fits.
    """
    cells = [text.strip() for text in texts if text.strip()]
    digits = [cell for cell in cells if DIGITS.fullmatch(cell.replace(" ", ""))]
    if len(digits) < SURE * len(cells):
        return "plain"
    cells, with_comma = digits, [cell for cell in digits if "," in cell]  # words have commas of their own
    if not with_comma:
        return "plain"
    readings: list[NumberReading] = []
    if _may_be_thousands(cells, with_comma):
        readings.append("thousands")
    if _may_be_decimal(cells, with_comma):
        readings.append("decimal")
    if _may_be_labels(cells, with_comma):
        readings.append("labels")
    return readings[0] if len(readings) == 1 else "unclear"


def _may_be_thousands(cells: Sequence[str], with_comma: Sequence[str]) -> bool:
    """Whether commas separate groups of three digits only, and no number of four digits or more lacks one."""
    if not all(THOUSANDS.fullmatch(cell.partition(".")[0]) for cell in with_comma):
        return False
    return not any(len(cell.partition(".")[0].lstrip("-+")) > 3 for cell in cells if "," not in cell)


def _may_be_decimal(cells: Sequence[str], with_comma: Sequence[str]) -> bool:
    """Whether cells have at most one comma, no decimal point, and decimals of similar length or with leading zeros.

    A column of thousands has 000 to 999 after the comma: that alone does not indicate decimals, but a 0 before it does.
    """
    if any(cell.count(",") > 1 for cell in cells):
        return False
    if any("." in cell and not re.fullmatch(r"[-+]?\d{1,3}(\.\d{3})+(,\d*)?", cell) for cell in cells):
        return False
    decimals = [cell.partition(",")[2] for cell in with_comma]
    if any(re.search(r"\.\d{3},", cell) for cell in with_comma):
        return True
    if any(cell.lstrip("-+").startswith("0,") for cell in with_comma):
        return not _repeats_parts(cells, with_comma)
    if all(len(some) == 3 for some in decimals) and _may_be_thousands(cells, with_comma):
        return len(with_comma) > 0.9 * len(cells)
    return len(with_comma) > 0.5 * len(cells) and not _repeats_parts(cells, with_comma)


def _may_be_labels(cells: Sequence[str], with_comma: Sequence[str]) -> bool:
    """Whether parts are whole numbers without leading zeros, the same ones alone and in combination."""
    parts = [part.strip() for cell in cells for part in cell.split(",")]
    if not all(re.fullmatch(r"0|[1-9]\d{0,3}", part) for part in parts):
        return False
    if any(cell.count(",") > 1 for cell in cells) and not _may_be_thousands(cells, with_comma):
        return True
    repeated = any(len(set(numbers)) < len(numbers) for cell in with_comma if (numbers := cell.split(",")))
    return not repeated and _repeats_parts(cells, with_comma)


def _repeats_parts(cells: Sequence[str], with_comma: Sequence[str]) -> bool:
    """Whether the parts on both sides of commas are from one small set, which cells without a comma are from too.

    In decimals such as 3,5 and 4 nearly all cells have a comma, with one or two digits after it.
    """
    behind = Counter(part.strip() for cell in with_comma for part in cell.split(",")[1:])
    alone = {cell for cell in cells if "," not in cell}
    before = {cell.split(",")[0].strip() for cell in with_comma}
    known = alone | before
    inside = sum(count for part, count in behind.items() if part in known)
    return bool(alone) and len(alone) > 1 and inside >= 0.8 * behind.total() and len(with_comma) <= 0.7 * len(cells)
