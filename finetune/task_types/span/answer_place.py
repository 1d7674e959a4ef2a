"""Locates an answer in its context: at the given character, or where its text occurs once nearby."""

CHARS_OFF = 40  # characters by which an answer_start may be off and still be fixed


def located(context: str, text: str, start: int) -> int | None:
    """The character at which the text begins: `start` if it is there; None unless it occurs exactly once nearby."""
    if text and start >= 0 and context.startswith(text, start):
        return start
    begin = max(0, start - CHARS_OFF)
    nearby = context[begin : max(0, start + len(text) + CHARS_OFF)]
    return begin + nearby.index(text) if text and nearby.count(text) == 1 else None
