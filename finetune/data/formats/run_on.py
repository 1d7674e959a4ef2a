"""Rows with more cells than the header, where a text contains the unquoted delimiter: finds that column."""

from collections import Counter
from collections.abc import Sequence

from finetune.data.values import NUMBER

FEWEST_ROWS = 6  # fewest rows from which it can be inferred
SHARE_OF_ROWS = 0.05  # share of the rows that the smallest width must have
CLASSES = 50
FEW_LONGER, LONGER = 3, 0.02  # longer rows, and their share, from which they are not mistakes


def run_on_column(rows: Sequence[Sequence[str]], width: int) -> int | None:
    """The column whose text contains the delimiter, in rows that should have `width` cells.

    None where hardly any row is longer (they are faults), and where not exactly one column leaves the others what they
    are in all rows: classes, numbers, or single words.
    """
    long_enough = [row for row in rows if len(row) >= width]
    longer = sum(len(row) > width for row in long_enough)
    if width < 2 or len(long_enough) < FEWEST_ROWS or longer < max(FEW_LONGER, LONGER * len(long_enough)):
        return None
    fitting = [place for place in range(width) if _fits([joined(row, place, width, ",") for row in long_enough], place)]
    return fitting[0] if len(fitting) == 1 else None


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """The smallest number of cells that several rows have, of a file without a header."""
    widths = Counter(len(row) for row in rows if len(row) > 1)
    return min((width for width, count in widths.items() if count >= SHARE_OF_ROWS * len(rows)), default=0)


def joined(cells: Sequence[str], place: int, width: int, delimiter: str) -> list[str]:
    """The cells of a row, with those joined that belong to the column with index `place`."""
    more = len(cells) - width
    return [*cells[:place], delimiter.join(cells[place : place + more + 1]), *cells[place + more + 1 :]]


def _fits(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether the column with index `place` holds texts, and no other one does."""
    columns = list(zip(*rows, strict=True))
    if sum(len(cell.split()) for cell in columns[place]) < 2 * len(rows):
        return False
    return all(_is_plain([cell.strip() for cell in cells]) for i, cells in enumerate(columns) if i != place)


def _is_plain(cells: Sequence[str]) -> bool:
    few = len(set(cells)) <= max(2, min(CLASSES, 0.2 * len(cells)))
    words = sum(" " not in cell for cell in cells) >= 0.98 * len(cells)
    return few or words or all(NUMBER.fullmatch(cell) for cell in cells)
