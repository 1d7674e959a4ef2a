"""What a comma or a point means in a column of digits: decimals (3,5), thousands (1,234), or two labels (4,27)."""

import re
from collections.abc import Sequence
from typing import Literal

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
