"""`--data-sizes 10%,25%,50%,100%`: shares of the training rows, each of which is a run of its own."""

from collections.abc import Sequence

from finetune.errors import UserError, shown
from finetune.runs.record import RunRecord
from finetune.runs.seeds import groups

EXAMPLE = "Write percentages, such as --data-sizes 10%,25%,50%,100%"
FEWEST, MOST = 2, 20
SETTING = "train_share"


def shares_of(text: str) -> list[float]:
    """The shares, over 0 to 1, in increasing order. Raises UserError for anything else, and for a single one."""
    found = sorted({_share(part.strip()) for part in text.split(",")})
    if not FEWEST <= len(found) <= MOST:
        raise UserError(f"--data-sizes: {shown(text)} has {len(found)}, not {FEWEST} to {MOST}", EXAMPLE)
    return found


def percent(share: float) -> str:
    """`12.5%`"""
    return f"{100 * share:.6g}%"


def by_share(records: Sequence[RunRecord]) -> list[dict[float, list[RunRecord]]]:
    """The runs of each setting that was run with several shares of the same rows, by share, smallest first."""
    found = []
    for group in groups(records, over=[SETTING]):
        sizes: dict[float, list[RunRecord]] = {}
        for record in group:
            if record.data == group[0].data:  # the hash of all rows, of which a share was taken
                sizes.setdefault(share_of(record), []).append(record)
        if len(sizes) > 1:
            found.append({share: sizes[share] for share in sorted(sizes)})
    return found


def of_largest_sizes(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records without those of smaller sizes of the data, which answer another question than which is best."""
    smaller = {record.id for sizes in by_share(records) for share in list(sizes)[:-1] for record in sizes[share]}
    return [record for record in records if record.id not in smaller]


def share_of(record: RunRecord) -> float:
    """The share of the training rows of a run; 1 in older records."""
    return float(record.recipe.get(SETTING, 1.0))


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
