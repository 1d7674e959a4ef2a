"""Checks of tags: which scheme the file is in, rows that break it, and rows in another one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from finetune.checks.check import Check, in_each
from finetune.checks.finding import Finding
from finetune.checks.split_data import Part
from finetune.data.issues import Issue
from finetune.data.messages import shown
from finetune.metrics.entities import split_tag

SCHEMES = {"IOB2": "BIO", "IOB1": "BIO", "IOBES": "BIOES", "BILOU": "BIOLU"}
TAG_SCHEME = Issue(
    code="tag-scheme",
    severity="warning",
    meaning="rows in another scheme of tags than most of the file",
    remedy="Write all in one scheme; they may be read wrongly",
)
TAG_TRANSITION = Issue(
    code="tag-transition",
    severity="warning",
    meaning="rows with a tag that must not follow the one before it",
    remedy="Correct them; an I-X that follows no X is read as the beginning of an entity",
)


def schemes(part: Part) -> Iterator[Finding]:
    """Transitions that the file's scheme forbids, and rows in another scheme."""
    if part.layout.shape != "tagging" or part.layout.spans or not part.layout.label or not part.has(part.layout.label):
        return
    cells = part.table.columns[part.layout.label[0]]
    rows = {row: part.layout.tags(cells[row]) for row, gold in enumerate(part.golds) if gold and set(gold) != {"O"}}
    fitting = {row: [name for name in SCHEMES if is_legal(tags, name)] for row, tags in rows.items()}
    counts = Counter(name for names in fitting.values() for name in names)
    main = max(SCHEMES, key=lambda name: counts[name])
    wrong = [row for row, names in fitting.items() if main not in names]
    other = [row for row in wrong if fitting[row]]
    if other:
        what = f"rows in another scheme of tags ({fitting[other[0]][0]}) than most of the file ({main})"
        yield part.found(TAG_SCHEME, other, what=what)
    if broken := [row for row in wrong if not fitting[row]]:
        example = shown(_first_break(rows[broken[0]], main))
        what = f"rows with a tag that must not follow the one before it in {main}, such as {example}"
        yield part.found(TAG_TRANSITION, broken, what=what)


def is_legal(tags: Sequence[str], scheme: str) -> bool:
    """Whether every tag may stand where it does."""
    return _first_break(tags, scheme) == ""


def _first_break(tags: Sequence[str], scheme: str) -> str:
    """The first two tags that must not follow each other, if any."""
    steps = pairwise(["O", *tags, "O"])
    return next((f"{one} {other}" for one, other in steps if not _may_follow(one, other, scheme)), "")


def _may_follow(one: str, other: str, scheme: str) -> bool:
    if other[:1] not in SCHEMES[scheme]:
        return False
    (before, kind), (after, next_kind) = split_tag(one), split_tag(other)
    same = kind == next_kind
    if scheme == "IOB2":
        return after != "I" or same
    if scheme == "IOB1":
        return after != "B" or (before != "O" and same)
    return (before in "BI") == (after in "IE") and (before not in "BI" or same)


CHECKS = (Check(find=in_each(schemes), issues=(TAG_SCHEME, TAG_TRANSITION)),)
