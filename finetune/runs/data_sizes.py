"""`--data-sizes 10%,25%,50%,100%`: shares of the training rows, each of which is a run of its own."""

from finetune.errors import UserError, shown

EXAMPLE = "Write percentages, such as --data-sizes 10%,25%,50%,100%"
FEWEST, MOST = 2, 20


def shares_of(text: str) -> list[float]:
    """The shares, over 0 to 1, in increasing order. Raises UserError for anything else, and for a single one."""
    found = sorted({_share(part.strip()) for part in text.split(",")})
    if not FEWEST <= len(found) <= MOST:
        raise UserError(f"--data-sizes: {shown(text)} has {len(found)}, not {FEWEST} to {MOST}", EXAMPLE)
    return found


def percent(share: float) -> str:
    """`12.5%`"""
    return f"{100 * share:.6g}%"


def _share(text: str) -> float:
    try:
        number = float(text.removesuffix("%")) if text.endswith("%") else None
    except ValueError:
        number = None
    if number is None:
        raise UserError(f"--data-sizes: {shown(text)} is not a percentage", EXAMPLE)
    if not 0 < number <= 100:
        raise UserError(f"--data-sizes: {text} is not over 0% and at most 100%", EXAMPLE)
    return number / 100
