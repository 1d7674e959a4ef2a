"""Texts, counts and row numbers as messages show them."""

from collections.abc import Sequence


def shown(text: str, most: int = 40) -> str:
    """A text for a message: what cannot be seen is escaped, what is long is cut."""
    plain = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: most + 1])
    return f"'{plain}'" if len(text) <= most else f"'{plain[: most - 3]}...'"


def so_many(count: int, noun: str = "row") -> str:
    """`1 row`, `1,200 rows`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def places(found: Sequence[tuple[int, int]], *, most: int, count: int = 0) -> str:
    """`rows 3, 17, 40 and 9 more; lines 4, 18, 41`, of the first (row, line) of `count`, or of all there are."""
    count = count or len(found)
    shown = found[:most]
    more = f" and {count - most:,} more" if count > most else ""
    rows = f"row{'s' * (count > 1)} {', '.join(str(row) for row, _ in shown)}{more}"
    if all(row == line for row, line in shown):
        return rows
    return f"{rows}; line{'s' * (len(shown) > 1)} {', '.join(str(line) for _, line in shown)}"
